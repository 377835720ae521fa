import { DeadlineError } from '@caribou/contracts';
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
  /** Without news of the call, in milliseconds. */
  readonly timeoutMs: number;
  /** With news of it. */
  readonly maxTotalMs: number;
  /** Ends the call at the server. */
  readonly cancel: AbortSignal;
}

export interface Opening {
  /** Until the server has answered the first time. */
  readonly timeoutMs: number;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
}

/** A tool as the server lists it; not yet looked at. */
const Page = z.object({ tools: z.array(z.unknown()), nextCursor: z.string().max(10_000).optional() });

const MAX_PAGES = 50;
const PING_TIMEOUT_MS = 5_000;
const CLOSE_TIMEOUT_MS = 6_000;
const LEAVE_TIMEOUT_MS = 2_000;

/** Results are not checked against schemas of the server: models read them, no program. */
const noValidator = {
  getValidator: () => () => ({ valid: false as const, data: undefined, errorMessage: 'not checked' }),
};

/** A connection to a server, from its first answer to its end. It never comes back: whoever needs one opens another. */
export class McpSession {
  private readonly ended: Promise<void>;
  private isOver = false;
  private probing = false;
  private onChange: () => void = () => undefined;

  private constructor(
    private readonly client: Client,
    private readonly goodbye: () => Promise<void>,
  ) {
    this.ended = new Promise((resolve) => {
      client.onclose = () => {
        this.isOver = true;
        resolve();
      };
    });
    client.onerror = (error) => void this.look(error);
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => this.onChange());
  }

  /** @throws what kept the server from answering, DeadlineError after `timeoutMs`, the signal's reason */
  static async open({ transport, goodbye }: OpenedTransport, { timeoutMs, signal }: Opening): Promise<McpSession> {
    const client = new Client({ name: 'caribou', version: '0.1.0' }, { jsonSchemaValidator: noValidator });
    const session = new McpSession(client, goodbye);
    try {
      await within(timeoutMs, client.connect(transport, { timeout: timeoutMs }), signal);
      return session;
    } catch (error) {
      // A transport that never connected is not the client's yet.
      const closed = within(CLOSE_TIMEOUT_MS, transport.close()).catch(() => undefined);
      // A program that does not end by itself is killed after a while; only who stops waits for that.
      if (signal.aborted) await closed;
      throw error;
    }
  }

  get over(): boolean {
    return this.isOver;
  }

  /** Resolves when the connection has ended, whoever ended it. */
  whenOver(): Promise<void> {
    return this.ended;
  }

  /** Called when the server says that its tools are others now. */
  whenToolsChange(listener: () => void): void {
    this.onChange = listener;
  }

  /** All pages of the server's tools, at most `max`. @throws as the client's requests */
  async listTools(timeoutMs: number, max: number): Promise<readonly unknown[]> {
    if (this.client.getServerCapabilities()?.tools === undefined) return [];
    const deadline = performance.now() + timeoutMs;
    const tools: unknown[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES && tools.length < max; page += 1) {
      const params = cursor === undefined ? {} : { cursor };
      const timeout = Math.max(1, deadline - performance.now());
      const answer = await this.client.request({ method: 'tools/list', params }, Page, { timeout });
      tools.push(...answer.tools);
      cursor = answer.nextCursor;
      if (cursor === undefined) break;
    }
    return tools.slice(0, max);
  }

  /** @throws what `failureKind` tells apart */
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

  /** Ends the connection of its own will: the server may forget the session. Bounded; never rejects. */
  async leave(): Promise<void> {
    if (!this.isOver) await within(LEAVE_TIMEOUT_MS, this.goodbye()).catch(() => undefined);
    await this.close();
  }

  /** Ends the connection; what is under way fails. Bounded; never rejects. */
  async close(): Promise<void> {
    this.isOver = true;
    await within(CLOSE_TIMEOUT_MS, this.client.close()).catch(() => undefined);
  }

  /**
   * The transports tell of trouble and wait on: a lost event stream would leave its request without an answer until the
   * deadline, and the older one would connect again to a session that knows nothing. So trouble ends the session, unless
   * the server still answers in it.
   */
  private async look(error: Error): Promise<void> {
    if (this.isOver || this.probing) return;
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
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DeadlineError(`no answer within ${timeoutMs} ms`)), timeoutMs);
    stop = () => reject(signal?.reason);
    if (signal?.aborted === true) stop();
    signal?.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    if (stop !== undefined) signal?.removeEventListener('abort', stop);
  }
}
