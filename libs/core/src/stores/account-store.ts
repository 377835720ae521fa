/**
 * Port to the accounts of people who sign in, and to their sessions. All gateways share them: what one ends, no other one
 * takes for valid. Passwords come and go as records that the store does not understand. Times are the store's clock.
 */
export interface Account {
  readonly userId: string;
  /** In lower case; of one account only. */
  readonly email: string;
  readonly admin: boolean;
}

/** An account with the record of its password. */
export interface StoredAccount extends Account {
  readonly password: string;
}

/** A session without its secret: `digest` is a one-way hash of it. */
export interface SessionKey {
  readonly userId: string;
  readonly digest: string;
}

export interface NewSession extends SessionKey {
  readonly ttlMs: number;
  /** Whether it was asked for beyond the end of the browser. */
  readonly remembered: boolean;
}

export interface SessionHolder {
  readonly account: Account;
  readonly remembered: boolean;
}

export interface AccountBounds {
  /** Whether this is the one that sets the installation up. */
  readonly first: boolean;
  readonly maxAccounts: number;
}

/**
 * `initialized`: a first account was asked for, and there is one. `not_initialized`: a further one was asked for, and
 * there is none.
 */
export type CreateOutcome = 'created' | 'initialized' | 'not_initialized' | 'email_taken' | 'full';

export interface PasswordChange {
  readonly userId: string;
  /** The record that is replaced. */
  readonly from: string;
  readonly to: string;
  /** Absent: it stays. */
  readonly email?: string;
  /** The one session that there is afterwards. */
  readonly session: NewSession;
}

/** `stale`: another change was quicker. Unless `changed`, nothing was written. */
export type ChangeOutcome = 'changed' | 'stale' | 'email_taken';

/** Every method throws UnavailableError when the store does not answer in time. */
export interface AccountStore {
  /** Whether there is an account. */
  isInitialized(): Promise<boolean>;
  /** Unless `created`, nothing was written. */
  create(account: StoredAccount, bounds: AccountBounds): Promise<CreateOutcome>;
  byEmail(email: string): Promise<StoredAccount | null>;
  byId(userId: string): Promise<StoredAccount | null>;
  /**
   * Opens a session, and ends the oldest one of an account that has too many. False when the account no longer has this
   * password: whoever checked it was overtaken by a change, and nothing is written.
   */
  openSession(session: NewSession, password: string): Promise<boolean>;
  /** Who has this session; null when it is over or never was. */
  session(key: SessionKey): Promise<SessionHolder | null>;
  closeSession(key: SessionKey): Promise<void>;
  /** Replaces password and, if given, e-mail, and ends all sessions but the new one. */
  changePassword(change: PasswordChange): Promise<ChangeOutcome>;
}
