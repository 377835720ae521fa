import type { ServerResponse } from 'node:http';
import type { Logger } from '@caribou/core';
import type { AccountStore, SessionKey } from '@caribou/state';
import { AppError } from '@caribou/contracts';

/** Sessions that are looked up concurrently. */
const AT_ONCE = 50;

/**
 * Closes open responses whose session has ended, since event streams would otherwise outlive a sign-out. Runs continue; a
 * client that reconnects gets a 401. While the store is unreachable, nothing is closed.
 */
export class SessionWatch {
  private readonly open = new Map<ServerResponse, SessionKey>();
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;

  constructor(
    private readonly accounts: Pick<AccountStore, 'session'>,
    private readonly everyMs: number,
    private readonly logger: Logger,
  ) {
    this.schedule();
  }

  add(response: ServerResponse, session: SessionKey): void {
    // If the client disconnected while the session was looked up, no 'close' event follows.
    if (response.destroyed) return;
    this.open.set(response, session);
    response.once('close', () => this.open.delete(response));
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private schedule(): void {
    if (this.stopped) return;
    this.timer = setTimeout(() => void this.check(), this.everyMs).unref();
  }

  private async check(): Promise<void> {
    try {
      await this.closeEnded();
    } catch (error) {
      const level = error instanceof AppError && error.expected ? 'warn' : 'error';
      this.logger[level]({ event: 'sessions.check', error }, 'sessions of open responses could not be looked up');
    } finally {
      this.schedule();
    }
  }

  private async closeEnded(): Promise<void> {
    const sessions = new Map([...this.open.values()].map((session) => [nameOf(session), session]));
    const waiting = [...sessions.values()];
    const ended = new Set<string>();
    while (waiting.length > 0) {
      const some = waiting.splice(0, AT_ONCE);
      const held = await Promise.all(some.map((session) => this.accounts.session(session)));
      for (const [at, session] of some.entries()) if (held[at] === null) ended.add(nameOf(session));
    }
    for (const [response, session] of this.open) if (ended.has(nameOf(session))) response.destroy();
  }
}

const nameOf = ({ userId, digest }: SessionKey): string => `${userId}.${digest}`;
