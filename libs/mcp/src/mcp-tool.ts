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
import { toldFailure } from './resolved-endpoint.js';
import type { SessionPool } from './session-pool.js';
import { toOutcome } from './tool-result.js';

export interface ToolParts {
  readonly journal: ToolJournal;
  readonly files: Pick<SandboxPort, 'write'>;
  readonly sessions: SessionPool;
  /** The server as it is configured at the moment of a call; undefined when it is none any more. */
  readonly serverNow: (name: string) => McpServer | undefined;
}

interface Offer {
  /** The name the model knows it by. */
  readonly name: string;
  readonly server: McpServer;
  readonly tool: ListedTool;
}

/** Longest call, however much news there is of it. */
const MAX_CALL_MS = 3_600_000;

/**
 * A tool of a server as agents have it. One that may have an effect is called once per key, whoever asks; one that only
 * reads may be called again. Its failures are answers to the model.
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
      const make = (): Promise<ToolOutcome> => called(offer, { ...parts, args, context });
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

/** What came of the call, in words for the model; only what is wrong with this system or ends the run is thrown. */
async function called({ name, server: offered, tool }: Offer, call: Call): Promise<ToolOutcome> {
  const { context, files } = call;
  const server = call.serverNow(offered.settings.name);
  if (server === undefined) return failed(`The MCP server '${offered.settings.name}' is not configured any more.`);
  const limits = { timeoutMs: server.callTimeoutMs, maxTotalMs: Math.max(MAX_CALL_MS, server.callTimeoutMs) };
  const cancel = whenCancelled(context.run.signal);
  const ask = (session: McpSession) => session.call(tool.name, call.args, { ...limits, cancel: cancel.signal });
  try {
    const result = await inSession(server, call, ask);
    return await toOutcome(result, { tool: name, context, files });
  } catch (error) {
    if (error instanceof FencedError || error instanceof RunDraining) throw error;
    if (context.run.signal.aborted) throw context.run.signal.reason;
    return outcomeOf(error, server);
  } finally {
    cancel.stop();
  }
}

class NotReached extends Error {}

/** In the session of the thread; in a new one when that is over and nothing was carried out in it. */
async function inSession(
  server: McpServer,
  { sessions, context }: Call,
  ask: (session: McpSession) => Promise<CallToolResult>,
): Promise<CallToolResult> {
  const { userId, threadId } = context.run;
  const key = `${sessionPrefix(server.settings.name)}${userId}/${threadId}`;
  const open = (): Promise<McpSession> =>
    server.openSession().catch((error: unknown) => {
      throw new NotReached(error instanceof Error ? error.message : String(error), { cause: error });
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
    if (error instanceof NotReached || failureKind(error) !== 'gone') throw error;
    return await once();
  }
}

/** Keys of a server's sessions begin so. */
export const sessionPrefix = (server: string): string => `${JSON.stringify(server)} `;

function outcomeOf(error: unknown, server: McpServer): ToolOutcome {
  const { name } = server.settings;
  const told = toldFailure(error, server.hiddenValues);
  if (error instanceof NotReached)
    return failed(`The MCP server '${name}' cannot be reached, nothing was called: ${told}`);
  if (error instanceof AppError && !isOfTransport(error)) return failed(told);
  switch (failureKind(error)) {
    case 'answered':
      return failed(told);
    case 'refused':
    case 'gone':
      return failed(`The MCP server '${name}' did not take the call: ${told}`);
    case 'unknown':
      return unknownOutcome(
        isTimeout(error)
          ? `the MCP server '${name}' did not answer within ${server.callTimeoutMs / 1_000} seconds`
          : `the connection to the MCP server '${name}' ended before it answered (${told})`,
      );
  }
}

/** Thrown by `safeFetch` once a request was under way: the server may have carried it out. */
const isOfTransport = (error: AppError): boolean =>
  error instanceof DeadlineError ||
  error instanceof TooLargeError ||
  (error instanceof UnavailableError && error.details['dependency'] === 'egress');

const failed = (text: string): ToolOutcome => ({ content: `Error: ${text}`, isError: true });

/**
 * A signal for the server, which is told of a cancelled run only: whoever lost a run tells nobody, and a process that stops
 * may still keep the outcome for the one that goes on.
 */
function whenCancelled(signal: AbortSignal): { readonly signal: AbortSignal; readonly stop: () => void } {
  const cancel = new AbortController();
  const tell = (): void => {
    if (signal.reason instanceof RunCancelled) cancel.abort(signal.reason);
  };
  if (signal.aborted) tell();
  signal.addEventListener('abort', tell, { once: true });
  return { signal: cancel.signal, stop: () => signal.removeEventListener('abort', tell) };
}
