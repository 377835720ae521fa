import { UnavailableError } from '@caribou/contracts';
import type { Clock } from '@caribou/core';
import type { McpSession } from './mcp-session.js';

export interface PoolLimits {
  readonly maxSessions: number;
  readonly idleMs: number;
}

interface Entry {
  readonly session: Promise<McpSession>;
  users: number;
  lastUsedMs: number;
  /** Not handed out any more; ended once nobody uses it. */
  retired: boolean;
}

/**
 * Sessions that are kept between calls, by key: what a server remembers in a session belongs to one thread. At most
 * `maxSessions`; for a new one the longest unused one goes.
 */
export class SessionPool {
  private readonly entries = new Map<string, Entry>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly limits: PoolLimits,
    private readonly clock: Clock,
  ) {}

  /**
   * Works in the session of the key, opening it when there is none. A session that turns out to be over is opened anew by
   * the next one who asks.
   *
   * @throws what `open` or `work` throws
   * @throws {UnavailableError} when all sessions are in use
   */
  async use<T>(key: string, open: () => Promise<McpSession>, work: (session: McpSession) => Promise<T>): Promise<T> {
    const entry = await this.entry(key, open);
    entry.users += 1;
    try {
      return await work(await entry.session);
    } finally {
      entry.users -= 1;
      entry.lastUsedMs = this.clock.monotonicMs();
      if (entry.retired && entry.users === 0) this.end(entry);
    }
  }

  /** Hands the sessions whose keys begin so out no more; each is ended when nobody uses it. */
  retire(prefix: string): void {
    for (const [key, entry] of [...this.entries]) if (key.startsWith(prefix)) this.drop(key, entry);
  }

  /** Ends all sessions, used or not. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    const entries = [...this.entries.values()];
    this.entries.clear();
    await Promise.all(
      entries.map(({ session }) =>
        session.then(
          (opened) => opened.leave(),
          () => undefined,
        ),
      ),
    );
  }

  private async entry(key: string, open: () => Promise<McpSession>): Promise<Entry> {
    const known = this.entries.get(key);
    if (known !== undefined) {
      const isOver = await known.session.then(
        (session) => session.over,
        () => true,
      );
      if (!isOver && !known.retired) return known;
      if (this.entries.get(key) === known) this.drop(key, known);
      else return await this.entry(key, open);
    }
    if (this.entries.size >= this.limits.maxSessions) this.makeRoom();
    const entry: Entry = { session: open(), users: 0, lastUsedMs: this.clock.monotonicMs(), retired: false };
    this.entries.set(key, entry);
    this.sweepLater();
    return entry;
  }

  private makeRoom(): void {
    const unused = [...this.entries].filter(([, { users }]) => users === 0);
    const [oldest] = unused.sort(([, a], [, b]) => a.lastUsedMs - b.lastUsedMs);
    if (oldest === undefined)
      throw new UnavailableError(
        `all ${this.limits.maxSessions} sessions with MCP servers are in use; try again later`,
      );
    this.drop(...oldest);
  }

  private drop(key: string, entry: Entry): void {
    this.entries.delete(key);
    entry.retired = true;
    if (entry.users === 0) this.end(entry);
  }

  private end({ session }: Entry): void {
    session
      .then(
        (opened) => opened.leave(),
        () => undefined,
      )
      .catch(() => undefined);
  }

  private sweepLater(): void {
    this.timer ??= setInterval(() => this.sweep(), Math.max(50, this.limits.idleMs / 4)).unref();
  }

  private sweep(): void {
    const now = this.clock.monotonicMs();
    for (const [key, entry] of [...this.entries]) {
      if (entry.users === 0 && now - entry.lastUsedMs > this.limits.idleMs) this.drop(key, entry);
    }
  }
}
