import { type Clock, type Logger, settledWithin } from '@caribou/core';
import { listedTools, type ListedTool } from './listed-tool.js';
import { McpSession } from './mcp-session.js';
import type { OpenedTransport, TransportOpener } from './open-transport.js';
import { toldFailure } from './resolved-endpoint.js';
import type { ServerSettings } from './server-settings.js';

export interface ServerTimes {
  readonly connectTimeoutMs: number;
  readonly listTimeoutMs: number;
  readonly callTimeoutMs: number;
  /** How long runs wait for a server that was never reached. */
  readonly loadWaitMs: number;
  /** How old its list may be before it is asked for again. */
  readonly refreshMs: number;
  /** First and longest pause between two attempts to reach it. */
  readonly retryMs: number;
  readonly maxRetryMs: number;
}

export interface ServerParts {
  readonly transports: TransportOpener;
  readonly times: ServerTimes;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Which reset it was connected after. */
  readonly resets: number;
}

const MAX_TOOLS = 256;
/** A session that ends sooner counts as a failed attempt when the pause before the next one is chosen. */
const STEADY_MS = 30_000;
/** Between two lists that a server asks for by saying that its tools changed. */
const CHANGE_PAUSE_MS = 250;

/**
 * One server as this process knows it: a session of its own, kept open to hear of changes, and the tools it listed. While
 * it cannot be reached it has none and is tried again with growing pauses, in the background: only the first attempt is
 * waited for. Trouble with it stays here.
 */
export class McpServer {
  private tools: readonly ListedTool[] | undefined;
  private session: McpSession | undefined;
  private loading: Promise<void> | undefined;
  private loadedAtMs = 0;
  private failures = 0;
  /** Sessions in a row that ended soon. */
  private restarts = 0;
  private hidden: readonly string[] = [];
  private timer: NodeJS.Timeout | undefined;
  private readonly closing = new AbortController();
  private readonly firstWaitUntilMs: number;

  constructor(
    readonly settings: ServerSettings,
    private readonly parts: ServerParts,
  ) {
    this.firstWaitUntilMs = parts.clock.monotonicMs() + parts.times.loadWaitMs;
    this.load();
  }

  /** What it offers now; none while it cannot be reached. Waits for its first answer, within bounds. */
  async offered(): Promise<readonly ListedTool[]> {
    const { clock, times } = this.parts;
    const waitMs = this.firstWaitUntilMs - clock.monotonicMs();
    if (this.tools === undefined && this.failures === 0 && this.loading !== undefined && waitMs > 0)
      await settledWithin(this.loading, waitMs, clock);
    if (this.tools !== undefined && clock.monotonicMs() - this.loadedAtMs > times.refreshMs) this.load();
    return this.tools ?? [];
  }

  /** A session for calls. @throws {Error} in words that may be told */
  openSession(): Promise<McpSession> {
    return this.opened();
  }

  get resets(): number {
    return this.parts.resets;
  }

  /** What must not be told of it. */
  get hiddenValues(): readonly string[] {
    return this.hidden;
  }

  /** For this server, in milliseconds. */
  get callTimeoutMs(): number {
    return this.settings.callTimeoutMs ?? this.parts.times.callTimeoutMs;
  }

  async close(): Promise<void> {
    this.closing.abort(new Error('the server was taken out of the configuration'));
    clearTimeout(this.timer);
    await Promise.all([this.session?.leave(), this.loading]);
  }

  private get closed(): boolean {
    return this.closing.signal.aborted;
  }

  private load(): void {
    if (this.loading !== undefined || this.closed) return;
    clearTimeout(this.timer);
    this.loading = this.ask().finally(() => (this.loading = undefined));
  }

  /** One attempt is planned at a time; one that finds another under way is planned again. */
  private loadIn(ms: number): void {
    clearTimeout(this.timer);
    if (this.closed) return;
    this.timer = setTimeout(() => {
      if (this.loading === undefined) this.load();
      else this.loadIn(CHANGE_PAUSE_MS);
    }, ms).unref();
  }

  /** Asks for the tools, in the session that is kept, or a new one. Never rejects. */
  private async ask(): Promise<void> {
    const { logger, clock, times } = this.parts;
    const server = this.settings.name;
    try {
      const session = this.session?.over === false ? this.session : await this.keepSession();
      const { tools, leftOut } = listedTools(await session.listTools(times.listTimeoutMs, MAX_TOOLS));
      if (leftOut.length > 0)
        logger.warn({ event: 'mcp.left_out', server, problems: leftOut.slice(0, 10) }, 'tools left out');
      if (this.tools === undefined)
        logger.info({ event: 'mcp.ready', server, count: tools.length }, 'an MCP server is ready');
      this.tools = tools;
      this.failures = 0;
      this.loadedAtMs = clock.monotonicMs();
    } catch (error) {
      this.failed(error);
    }
  }

  private failed(error: unknown): void {
    if (this.closed) return;
    const { name: server } = this.settings;
    this.failures += 1;
    this.tools = undefined;
    const reason = toldFailure(error, this.hidden);
    const fields = { event: 'mcp.failed', server, failures: this.failures, reason };
    this.parts.logger.warn(fields, 'an MCP server cannot be used now');
    this.loadIn(this.pauseMs(this.failures));
  }

  /** Grows with the attempts that failed; not the same for all processes. */
  private pauseMs(failures: number): number {
    const { retryMs, maxRetryMs } = this.parts.times;
    return Math.min(maxRetryMs, retryMs * 2 ** Math.min(failures - 1, 20)) * (0.75 + Math.random() / 2);
  }

  /** A new session to hear of changes in; when it ends, the tools stay for as long as the next attempt takes. */
  private async keepSession(): Promise<McpSession> {
    const session = await this.opened();
    if (this.closed) {
      await session.close();
      throw this.closing.signal.reason;
    }
    this.session = session;
    const openedMs = this.parts.clock.monotonicMs();
    session.whenToolsChange(() => this.loadIn(CHANGE_PAUSE_MS));
    void session.whenOver().then(() => this.ended(openedMs));
    return session;
  }

  private ended(openedMs: number): void {
    const isSteady = this.parts.clock.monotonicMs() - openedMs > STEADY_MS;
    this.restarts = isSteady ? 0 : this.restarts + 1;
    this.loadIn(isSteady ? 0 : this.pauseMs(this.restarts));
  }

  private async opened(): Promise<McpSession> {
    let transport: OpenedTransport | undefined;
    try {
      transport = this.parts.transports.open();
      this.hidden = transport.hidden;
      const timeoutMs = this.settings.connectTimeoutMs ?? this.parts.times.connectTimeoutMs;
      return await McpSession.open(transport, { timeoutMs, signal: this.closing.signal });
    } catch (error) {
      throw new Error(toldFailure(error, transport?.hidden ?? []), { cause: error });
    }
  }
}
