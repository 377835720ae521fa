/**
 * Port to user accounts and sessions, shared by all gateways: a session that one gateway ends is invalid at all.
 * Passwords are opaque hash records for the store. Times are the store's clock.
 */
export interface Account {
  readonly userId: string;
  /** The e-mail address in lower case; unique among accounts. */
  readonly email: string;
  readonly admin: boolean;
}

/** An account with its password hash record. */
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
  /** Whether it outlives the browser session ("remember me"). */
  readonly remembered: boolean;
}

/** A session as its account lists it. Times are ms since 1970. */
export interface OpenSession {
  readonly digest: string;
  readonly openedAtMs: number;
  readonly endsAtMs: number;
  readonly remembered: boolean;
}

export interface SessionHolder {
  readonly account: Account;
  readonly remembered: boolean;
}

export interface AccountBounds {
  /** Whether this is the first account, which sets up the installation. */
  readonly first: boolean;
  readonly maxAccounts: number;
}

/**
 * `initialized`: the first account was requested, but there is one already. `not_initialized`: a further account was
 * requested, but there is none yet.
 */
export type CreateOutcome = 'created' | 'initialized' | 'not_initialized' | 'email_taken' | 'full';

export interface PasswordChange {
  readonly userId: string;
  /** The hash record that is replaced. */
  readonly from: string;
  readonly to: string;
  /** The new e-mail address; absent when it does not change. */
  readonly email?: string;
  /** The only session that remains. */
  readonly session: NewSession;
}

/** `stale`: the password was changed, or the account removed, meanwhile. Unless `changed`, nothing was written. */
export type ChangeOutcome = 'changed' | 'stale' | 'email_taken';

/** Every method throws UnavailableError when the store does not answer in time. */
export interface AccountStore {
  /** Whether any account exists. */
  isInitialized(): Promise<boolean>;
  /** Unless `created`, nothing was written. */
  create(account: StoredAccount, bounds: AccountBounds): Promise<CreateOutcome>;
  byEmail(email: string): Promise<StoredAccount | null>;
  byId(userId: string): Promise<StoredAccount | null>;
  /**
   * Opens a session, and ends the account's oldest one when it has too many. Writes nothing and returns false when the
   * password was changed since it was checked.
   */
  openSession(session: NewSession, password: string): Promise<boolean>;
  /** The holder of this session; null when it has ended or never existed. */
  session(key: SessionKey): Promise<SessionHolder | null>;
  /** The sessions of an account that have not ended, the newest first. There are at most 50. */
  sessions(userId: string): Promise<OpenSession[]>;
  closeSession(key: SessionKey): Promise<void>;
  /** Ends sessions of an account; returns how many of them had not ended yet. */
  closeSessions(userId: string, digests: readonly string[]): Promise<number>;
  /** Replaces password and, if given, e-mail, and ends all sessions but the new one. */
  changePassword(change: PasswordChange): Promise<ChangeOutcome>;
}
