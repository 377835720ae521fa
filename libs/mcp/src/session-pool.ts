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
  /** No longer returned to callers; ended after its last use. */
  retired: boolean;
}

/**
 * Sessions that stay open between calls, by key, because a server's session state belongs to one thread. At most
 * `maxSessions`; a new one replaces the least recently used.
 */
export class SessionPool {
  private readonly entries = new Map<string, Entry>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly limits: PoolLimits,
    private readonly clock: Clock,
  ) {}

  /**
   * Calls `work` with the session of the key, which it opens if necessary. A session that has ended is replaced at the
   * next call.
   *
   * @throws the errors of `open` and `work`
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

  /** Retires the sessions whose keys begin with `prefix`; each is ended after its last use. */
  retire(prefix: string): void {
    for (const [key, entry] of [...this.entries]) if (key.startsWith(prefix)) this.drop(key, entry);
  }

  /** Ends all sessions, also those in use. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    const entries = [...this.entries.values()];
    this.entries.clear();
    await Promise.all(
      entries.map(({ session }) =>
        session.then(
          (opened) => opened.terminate(),
          () => undefined,
        ),
      ),
    );
  }

  private async entry(key: string, open: () => Promise<McpSession>): Promise<Entry> {
    const known = this.entries.get(key);
    if (known !== undefined) {
      const isClosed = await known.session.then(
        (session) => session.isClosed,
        () => true,
      );
      if (!isClosed && !known.retired) return known;
      if (this.entries.get(key) === known) this.drop(key, known);
      else return await this.entry(key, open);
    }
    if (this.entries.size >= this.limits.maxSessions) this.evictOldest();
    const entry: Entry = { session: open(), users: 0, lastUsedMs: this.clock.monotonicMs(), retired: false };
    this.entries.set(key, entry);
    this.scheduleSweep();
    return entry;
  }

  private evictOldest(): void {
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
        (opened) => opened.terminate(),
        () => undefined,
      )
      .catch(() => undefined);
  }

  private scheduleSweep(): void {
    this.timer ??= setInterval(() => this.sweep(), Math.max(50, this.limits.idleMs / 4)).unref();
  }

  private sweep(): void {
    const now = this.clock.monotonicMs();
    for (const [key, entry] of [...this.entries]) {
      if (entry.users === 0 && now - entry.lastUsedMs > this.limits.idleMs) this.drop(key, entry);
    }
  }
}
