import { NotFoundError, type SessionReply } from '@caribou/contracts';
import type { AccountStore, OpenSession } from '@caribou/state';
import { Injectable } from '@nestjs/common';
import { Dependency } from '../dependency.js';
import { sessionIdOf } from './session-id.js';

/** The owner of the sessions, and the digest of the session of the request; undefined when it has none. */
export interface SessionOwner {
  readonly userId: string;
  readonly current: string | undefined;
}

/** The sessions of the caller, in all browsers. */
@Injectable()
export class SessionsService {
  constructor(@Dependency('accounts') private readonly accounts: AccountStore) {}

  async list({ userId, current }: SessionOwner): Promise<SessionReply[]> {
    return (await this.accounts.sessions(userId)).map((session) => toReply(session, current));
  }

  /**
   * Returns whether it was the session of the request.
   *
   * @throws {NotFoundError} also for a session of another user
   */
  async end({ userId, current }: SessionOwner, id: string): Promise<boolean> {
    const found = (await this.accounts.sessions(userId)).find(({ digest }) => sessionIdOf(digest) === id);
    if (found === undefined) throw new NotFoundError('session_id: there is no such session, or it has ended');
    await this.accounts.closeSessions(userId, [found.digest]);
    return found.digest === current;
  }

  /** Returns the number of sessions that were ended. One that is opened meanwhile continues. */
  async endOthers({ userId, current }: SessionOwner): Promise<number> {
    const others = (await this.accounts.sessions(userId)).filter(({ digest }) => digest !== current);
    return await this.accounts.closeSessions(
      userId,
      others.map(({ digest }) => digest),
    );
  }
}

const toReply = (
  { digest, openedAtMs, endsAtMs, remembered }: OpenSession,
  current: string | undefined,
): SessionReply => ({
  id: sessionIdOf(digest),
  created_at: new Date(openedAtMs).toISOString(),
  expires_at: new Date(endsAtMs).toISOString(),
  remembered,
  current: digest === current,
});
