import { type Clock, type Logger, settlesWithin } from '@caribou/core';
import { parseTools, type ListedTool } from './listed-tool.js';
import { McpSession } from './mcp-session.js';
import type { OpenedTransport, TransportOpener } from './open-transport.js';
import { describeFailure } from './resolve-endpoint.js';
import type { ServerSettings } from './server-settings.js';

export interface ServerTimes {
  readonly connectTimeoutMs: number;
  readonly listTimeoutMs: number;
  readonly callTimeoutMs: number;
  /** How long runs wait for a server that was never reached. */
  readonly loadWaitMs: number;
  /** Age from which its list of tools is requested again. */
  readonly refreshMs: number;
  /** First and longest pause between two connection attempts. */
  readonly retryMs: number;
  readonly maxRetryMs: number;
}

export interface ServerParts {
  readonly transports: TransportOpener;
  readonly times: ServerTimes;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Number of resets by administrators before this connection. */
  readonly resets: number;
}

const MAX_TOOLS = 256;
/** A session that ends sooner counts as a failed attempt for the pause before the next one. */
const STABLE_MS = 30_000;
/** Shortest pause between two lists that a server triggers by announcing changed tools. */
const CHANGE_PAUSE_MS = 250;

/**
 * The connection of this process to one server: a session that stays open for notifications of changes, and the list of
 * tools. While the server cannot be reached it has no tools, and attempts to connect continue in the background with
 * growing pauses; runs wait only for the first attempt. Its failures do not affect others.
 */
export class McpServer {
  private tools: readonly ListedTool[] | undefined;
  private session: McpSession | undefined;
  private loading: Promise<void> | undefined;
  private loadedAtMs = 0;
  private failures = 0;
  /** Consecutive sessions that ended soon. */
  private restarts = 0;
  private currentSecrets: readonly string[] = [];
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

  /** Returns its tools; none while it cannot be reached. Waits for the first answer for at most `loadWaitMs`. */
  async listOffered(): Promise<readonly ListedTool[]> {
    const { clock, times } = this.parts;
    const waitMs = this.firstWaitUntilMs - clock.monotonicMs();
    if (this.tools === undefined && this.failures === 0 && this.loading !== undefined && waitMs > 0)
      await settlesWithin(this.loading, waitMs, clock);
    if (this.tools !== undefined && clock.monotonicMs() - this.loadedAtMs > times.refreshMs) this.load();
    return this.tools ?? [];
  }

  /** Opens a session for calls. @throws {Error} with a text that contains no secret */
  async openSession(): Promise<McpSession> {
    let transport: OpenedTransport | undefined;
    try {
      transport = this.parts.transports.open();
      this.currentSecrets = transport.secrets;
      const timeoutMs = this.settings.connectTimeoutMs ?? this.parts.times.connectTimeoutMs;
      return await McpSession.open(transport, { timeoutMs, signal: this.closing.signal });
    } catch (error) {
      throw new Error(describeFailure(error, transport?.secrets ?? []), { cause: error });
    }
  }

  get resets(): number {
    return this.parts.resets;
  }

  /** Values that must not be shown or logged. */
  get secretValues(): readonly string[] {
    return this.currentSecrets;
  }

  /** Timeout of a call of this server, in milliseconds. */
  get callTimeoutMs(): number {
    return this.settings.callTimeoutMs ?? this.parts.times.callTimeoutMs;
  }

  async close(): Promise<void> {
    this.closing.abort(new Error('the server was removed from the configuration'));
    clearTimeout(this.timer);
    await Promise.all([this.session?.terminate(), this.loading]);
  }

  private get isClosed(): boolean {
    return this.closing.signal.aborted;
  }

  private load(): void {
    if (this.loading !== undefined || this.isClosed) return;
    clearTimeout(this.timer);
    this.loading = this.loadTools().finally(() => (this.loading = undefined));
  }

  /** Schedules one attempt; if another is in progress at that time, it is scheduled again. */
  private loadIn(ms: number): void {
    clearTimeout(this.timer);
    if (this.isClosed) return;
    this.timer = setTimeout(() => {
      if (this.loading === undefined) this.load();
      else this.loadIn(CHANGE_PAUSE_MS);
    }, ms).unref();
  }

  /** Requests the list of tools in the open session or a new one. Never rejects. */
  private async loadTools(): Promise<void> {
    const { logger, clock, times } = this.parts;
    const server = this.settings.name;
    try {
      const session = this.session?.isClosed === false ? this.session : await this.openWatchSession();
      const { tools, skipped } = parseTools(await session.listTools(times.listTimeoutMs, MAX_TOOLS));
      if (skipped.length > 0)
        logger.warn(
          { event: 'mcp.left_out', server, problems: skipped.slice(0, 10) },
          'tools of an MCP server are skipped',
        );
      if (this.tools === undefined)
        logger.info({ event: 'mcp.ready', server, count: tools.length }, 'an MCP server is ready');
      this.tools = tools;
      this.failures = 0;
      this.loadedAtMs = clock.monotonicMs();
    } catch (error) {
      this.handleFailure(error);
    }
  }

  private handleFailure(error: unknown): void {
    if (this.isClosed) return;
    const { name: server } = this.settings;
    this.failures += 1;
    this.tools = undefined;
    const reason = describeFailure(error, this.currentSecrets);
    const fields = { event: 'mcp.failed', server, failures: this.failures, reason };
    this.parts.logger.warn(fields, 'an MCP server is not available');
    this.loadIn(this.pauseMs(this.failures));
  }

  /** Grows with the number of failures, with jitter. */
  private pauseMs(failures: number): number {
    const { retryMs, maxRetryMs } = this.parts.times;
    return Math.min(maxRetryMs, retryMs * 2 ** Math.min(failures - 1, 20)) * (0.75 + Math.random() / 2);
  }

  /** Opens the session for notifications of changes; after its end the tools are offered until the next attempt ends. */
  private async openWatchSession(): Promise<McpSession> {
    const session = await this.openSession();
    if (this.isClosed) {
      await session.close();
      throw this.closing.signal.reason;
    }
    this.session = session;
    const openedMs = this.parts.clock.monotonicMs();
    session.whenToolsChange(() => this.loadIn(CHANGE_PAUSE_MS));
    void session.whenClosed().then(() => this.handleSessionEnd(openedMs));
    return session;
  }

  private handleSessionEnd(openedMs: number): void {
    const isStable = this.parts.clock.monotonicMs() - openedMs > STABLE_MS;
    this.restarts = isStable ? 0 : this.restarts + 1;
    this.loadIn(isStable ? 0 : this.pauseMs(this.restarts));
  }
}
