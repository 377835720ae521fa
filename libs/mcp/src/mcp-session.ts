import { DeadlineError, omitUndefined } from '@caribou/contracts';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SseError } from '@modelcontextprotocol/sdk/client/sse.js';
import {
  type CallToolResult,
  CallToolResultSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { failureKind } from './call-failure.js';
import type { OpenedTransport } from './open-transport.js';

export interface CallLimits {
  /** Timeout without progress, in milliseconds. */
  readonly timeoutMs: number;
  /** Timeout with progress, in milliseconds. */
  readonly maxTotalMs: number;
  /** Cancels the call at the server. */
  readonly cancel: AbortSignal;
}

export interface Opening {
  /** Longest wait for the first answer. */
  readonly timeoutMs: number;
  /** Ends the wait. */
  readonly signal: AbortSignal;
}

/** A page of the list of tools, which are not yet validated. */
const Page = z.object({ tools: z.array(z.unknown()), nextCursor: z.string().max(10_000).optional() });

const MAX_PAGES = 50;
const PING_TIMEOUT_MS = 5_000;
const CLOSE_TIMEOUT_MS = 6_000;
const LEAVE_TIMEOUT_MS = 2_000;

/** Skips validation of results against the server's schemas, because only models read them. */
const noValidator = {
  getValidator: () => () => ({ valid: false as const, data: undefined, errorMessage: 'not checked' }),
};

/** A connection to a server, from its first answer to its end. It does not reconnect; callers open a new one. */
export class McpSession {
  private readonly ended: Promise<void>;
  private hasEnded = false;
  private probing = false;
  private onChange: () => void = () => undefined;

  private constructor(
    private readonly client: Client,
    private readonly endSession: () => Promise<void>,
  ) {
    this.ended = new Promise((resolve) => {
      client.onclose = () => {
        this.hasEnded = true;
        resolve();
      };
    });
    client.onerror = (error) => void this.closeIfBroken(error);
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => this.onChange());
  }

  /** @throws the error of the connection, DeadlineError after `timeoutMs`, the signal's reason */
  static async open({ transport, endSession }: OpenedTransport, { timeoutMs, signal }: Opening): Promise<McpSession> {
    const client = new Client({ name: 'caribou', version: '0.1.0' }, { jsonSchemaValidator: noValidator });
    const session = new McpSession(client, endSession);
    try {
      await within(timeoutMs, client.connect(transport, { timeout: timeoutMs }), signal);
      return session;
    } catch (error) {
      // The client closes only transports that were connected.
      const closing = within(CLOSE_TIMEOUT_MS, transport.close()).catch(() => undefined);
      // A program that does not exit is killed after a timeout; only a stopping process waits for that.
      if (signal.aborted) await closing;
      throw error;
    }
  }

  get isClosed(): boolean {
    return this.hasEnded;
  }

  /** Resolves when either side has ended the connection. */
  whenClosed(): Promise<void> {
    return this.ended;
  }

  /** Sets the listener for the server's notification that its tools changed. */
  whenToolsChange(listener: () => void): void {
    this.onChange = listener;
  }

  /** Lists at most `max` tools over all pages. @throws the errors of the client's requests */
  async listTools(timeoutMs: number, max: number): Promise<readonly unknown[]> {
    if (this.client.getServerCapabilities()?.tools === undefined) return [];
    const deadline = performance.now() + timeoutMs;
    const tools: unknown[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES && tools.length < max; page += 1) {
      const params = omitUndefined({ cursor });
      const timeout = Math.max(1, deadline - performance.now());
      const answer = await this.client.request({ method: 'tools/list', params }, Page, { timeout });
      tools.push(...answer.tools);
      cursor = answer.nextCursor;
      if (cursor === undefined) break;
    }
    return tools.slice(0, max);
  }

  /** @throws errors that `failureKind` classifies */
  async call(name: string, args: Readonly<Record<string, unknown>>, limits: CallLimits): Promise<CallToolResult> {
    const params = { name, arguments: { ...args } };
    return await this.client.request({ method: 'tools/call', params }, CallToolResultSchema, {
      timeout: limits.timeoutMs,
      maxTotalTimeout: limits.maxTotalMs,
      resetTimeoutOnProgress: true,
      onprogress: () => undefined,
      signal: limits.cancel,
    });
  }

  /** Ends the session at the server and closes the connection. Bounded; never rejects. */
  async terminate(): Promise<void> {
    if (!this.hasEnded) await within(LEAVE_TIMEOUT_MS, this.endSession()).catch(() => undefined);
    await this.close();
  }

  /** Closes the connection; requests in progress fail. Bounded; never rejects. */
  async close(): Promise<void> {
    this.hasEnded = true;
    await within(CLOSE_TIMEOUT_MS, this.client.close()).catch(() => undefined);
  }

  /**
   * Closes the session after an error unless the server still answers in it. The transports only report errors: after
   * the loss of an event stream a request would wait for its deadline, and the SSE transport would reconnect to a new
   * session that does not know the requests.
   */
  private async closeIfBroken(error: Error): Promise<void> {
    if (this.hasEnded || this.probing) return;
    if (error instanceof SseError) return await this.close();
    this.probing = true;
    try {
      await this.client.ping({ timeout: PING_TIMEOUT_MS });
    } catch (cause) {
      if (failureKind(cause) !== 'answered') await this.close();
    } finally {
      this.probing = false;
    }
  }
}

async function within<T>(timeoutMs: number, work: Promise<T>, signal?: AbortSignal): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let stop: (() => void) | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DeadlineError(`no answer within ${timeoutMs} ms`)), timeoutMs);
    stop = () => reject(signal?.reason);
    if (signal?.aborted === true) stop();
    signal?.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
    if (stop !== undefined) signal?.removeEventListener('abort', stop);
  }
}
