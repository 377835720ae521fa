import { AppError, DeadlineError, FencedError, TooLargeError, UnavailableError } from '@caribou/contracts';
import {
  type AnyTool,
  executeAtMostOnce,
  RunCancelled,
  RunDraining,
  type SandboxPort,
  type ToolContext,
  type ToolJournal,
  type ToolOutcome,
  unknownOutcome,
} from '@caribou/core';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { failureKind, isTimeout } from './call-failure.js';
import type { ListedTool } from './listed-tool.js';
import type { McpServer } from './mcp-server.js';
import type { McpSession } from './mcp-session.js';
import { describeFailure } from './resolve-endpoint.js';
import type { SessionPool } from './session-pool.js';
import { toOutcome } from './tool-result.js';

export interface ToolParts {
  readonly journal: ToolJournal;
  readonly files: Pick<SandboxPort, 'write'>;
  readonly sessions: SessionPool;
  /** Looks up the server at the time of a call; undefined when it is no longer configured. */
  readonly currentServer: (name: string) => McpServer | undefined;
}

interface Offer {
  /** The name that the model uses. */
  readonly name: string;
  readonly server: McpServer;
  readonly tool: ListedTool;
}

/** Longest call, even with progress. */
const MAX_CALL_MS = 3_600_000;

/**
 * Adapts a tool of a server for agents. A tool that may have an effect is called at most once per key; calls of a
 * read-only tool may be repeated. Failures are answers to the model.
 */
export function mcpTool(offer: Offer, parts: ToolParts): AnyTool {
  const { name, server, tool } = offer;
  return {
    name,
    description: tool.description,
    parameters: tool.parameters,
    remote: true,
    deferred: server.settings.deferral(tool.name),
    async invoke(args, context) {
      const make = (): Promise<ToolOutcome> => callTool(offer, { ...parts, args, context });
      if (tool.readOnly) return await make();
      return await executeAtMostOnce(
        { journal: parts.journal, context, what: [server.settings.name, tool.name, args] },
        make,
      );
    },
  };
}

interface Call extends ToolParts {
  readonly args: Readonly<Record<string, unknown>>;
  readonly context: ToolContext;
}

/** Calls the tool and returns the outcome for the model; throws only internal errors and those that end the run. */
async function callTool({ name, server: offered, tool }: Offer, call: Call): Promise<ToolOutcome> {
  const { context, files } = call;
  const server = call.currentServer(offered.settings.name);
  if (server === undefined)
    return toFailedOutcome(`The MCP server '${offered.settings.name}' is not configured any more.`);
  const limits = { timeoutMs: server.callTimeoutMs, maxTotalMs: Math.max(MAX_CALL_MS, server.callTimeoutMs) };
  const cancel = cancelSignal(context.run.signal);
  const ask = (session: McpSession) => session.call(tool.name, call.args, { ...limits, cancel: cancel.signal });
  try {
    const result = await callInSession(server, call, ask);
    return await toOutcome(result, { tool: name, context, files });
  } catch (error) {
    if (error instanceof FencedError || error instanceof RunDraining) throw error;
    if (context.run.signal.aborted) throw context.run.signal.reason;
    return outcomeOf(error, server);
  } finally {
    cancel.stop();
  }
}

class ServerUnreachable extends Error {}

/** Calls in the thread's session, or in a new one when that has ended and the call was not executed. */
async function callInSession(
  server: McpServer,
  { sessions, context }: Call,
  ask: (session: McpSession) => Promise<CallToolResult>,
): Promise<CallToolResult> {
  const { userId, threadId } = context.run;
  const key = `${sessionPrefix(server.settings.name)}${userId}/${threadId}`;
  const open = (): Promise<McpSession> =>
    server.openSession().catch((error: unknown) => {
      throw new ServerUnreachable(error instanceof Error ? error.message : String(error), { cause: error });
    });
  const once = (): Promise<CallToolResult> =>
    sessions.use(key, open, async (session) => {
      try {
        return await ask(session);
      } catch (error) {
        if (failureKind(error) === 'gone') await session.close();
        throw error;
      }
    });
  try {
    return await once();
  } catch (error) {
    if (error instanceof ServerUnreachable || failureKind(error) !== 'gone') throw error;
    return await once();
  }
}

/** Prefix of the keys of a server's sessions. */
export const sessionPrefix = (server: string): string => `${JSON.stringify(server)} `;

function outcomeOf(error: unknown, server: McpServer): ToolOutcome {
  const { name } = server.settings;
  const reason = describeFailure(error, server.secretValues);
  if (error instanceof ServerUnreachable)
    return toFailedOutcome(`The MCP server '${name}' cannot be reached, nothing was called: ${reason}`);
  if (error instanceof AppError && !isOfTransport(error)) return toFailedOutcome(reason);
  switch (failureKind(error)) {
    case 'answered':
      return toFailedOutcome(reason);
    case 'refused':
    case 'gone':
      return toFailedOutcome(`The MCP server '${name}' did not take the call: ${reason}`);
    case 'unknown':
      return unknownOutcome(
        isTimeout(error)
          ? `the MCP server '${name}' did not answer within ${server.callTimeoutMs / 1_000} seconds`
          : `the connection to the MCP server '${name}' ended before it answered (${reason})`,
      );
  }
}

/** Whether `safeFetch` failed during a request, which the server may then have executed. */
const isOfTransport = (error: AppError): boolean =>
  error instanceof DeadlineError ||
  error instanceof TooLargeError ||
  (error instanceof UnavailableError && error.details['dependency'] === 'egress');

const toFailedOutcome = (text: string): ToolOutcome => ({ content: `Error: ${text}`, isError: true });

/**
 * A signal that cancels the call at the server only when the run is cancelled. After a lost lease nothing is cancelled,
 * and a stopping process may still record the outcome for the process that continues the run.
 */
function cancelSignal(signal: AbortSignal): { readonly signal: AbortSignal; readonly stop: () => void } {
  const cancel = new AbortController();
  const forward = (): void => {
    if (signal.reason instanceof RunCancelled) cancel.abort(signal.reason);
  };
  if (signal.aborted) forward();
  signal.addEventListener('abort', forward, { once: true });
  return { signal: cancel.signal, stop: () => signal.removeEventListener('abort', forward) };
}
