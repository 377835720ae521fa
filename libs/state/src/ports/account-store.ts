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

/** A page of a list. */
export interface PageRequest {
  readonly offset: number;
  readonly limit: number;
}

/** What an administrator changed about keys or accounts, for the audit stream; the store adds the time as `at`. */
export interface AccessLine {
  readonly id: string;
  readonly operation:
    | 'api_key.create'
    | 'api_key.rotate'
    | 'api_key.revoke'
    | 'account.set_role'
    | 'account.end_sessions';
  /** The user whose key or account it is; absent for a key that is only named. */
  readonly user_id?: string;
  readonly api_key_id?: string;
  readonly what: string;
  readonly verdict: 'ok';
  /** User id of the administrator. */
  readonly decided_by: string;
  /** Label of the API key that the administrator used. */
  readonly decided_with?: string;
  /** Address of the client. */
  readonly decided_from: string;
}

/** An API key that an administrator made, without its secret. Times are ms since 1970; absent ones do not apply. */
export interface StoredApiKey {
  readonly keyId: string;
  readonly name: string;
  readonly userId: string;
  readonly role: 'user' | 'administrator';
  /** SHA-256 of its first secret in hexadecimal digits; usage and budgets know the key by it, whatever its secret is. */
  readonly label: string;
  readonly status: 'active' | 'expired' | 'revoked';
  readonly createdAt: number;
  readonly createdBy: string;
  readonly expiresAt?: number;
  readonly lastUsedAt?: number;
  readonly rotatedAt?: number;
  /** Until when the secret before the last rotation is accepted. */
  readonly previousUntil?: number;
  readonly revokedAt?: number;
}

export interface NewApiKey
  extends Pick<StoredApiKey, 'keyId' | 'name' | 'userId' | 'role' | 'label' | 'createdBy' | 'expiresAt'> {
  /** SHA-256 of the secret in hexadecimal digits. */
  readonly digest: string;
}

/** Who is authenticated by an API key. */
export interface FoundApiKey extends Pick<StoredApiKey, 'keyId' | 'userId' | 'role' | 'label'> {
  /** Whether its use was not entered within the last minute. */
  readonly isUseUnmarked: boolean;
}

/**
 * API keys that administrators make, shared by all gateways: one that was revoked is refused by all. Only digests of secrets are
 * stored. A change and its line of the audit are one step. Every method throws UnavailableError when the store does not answer in time.
 */
export interface ApiKeyStore {
  /** The key with this secret; null for an unknown, ended or replaced secret. */
  find(digest: string): Promise<FoundApiKey | null>;
  /** Enters that the key is used now. */
  markUsed(keyId: string): Promise<void>;
  /**
   * @throws {InvalidRequestError} when its end is in the past
   * @throws {ConflictError} when there are too many keys, or the user is being erased
   */
  create(key: NewApiKey, line: AccessLine): Promise<StoredApiKey>;
  /** The newest first. */
  list(page: PageRequest): Promise<{ readonly total: number; readonly keys: readonly StoredApiKey[] }>;
  /**
   * Replaces the secret; the old one is accepted for `overlapMs`.
   *
   * @throws {NotFoundError} for an unknown key
   * @throws {ConflictError} when the key has ended
   */
  rotate(
    keyId: string,
    secret: { readonly digest: string; readonly overlapMs: number },
    line: AccessLine,
  ): Promise<StoredApiKey>;
  /** Idempotent. @throws {NotFoundError} for an unknown key */
  revoke(keyId: string, line: AccessLine): Promise<void>;
  /** Removes all keys of a user. Idempotent. */
  eraseUser(userId: string): Promise<void>;
}

/** An account as administrators see it. Times are ms since 1970, absent for what happened before they were stored. */
export interface ListedAccount extends Pick<Account, 'userId' | 'email'> {
  readonly role: 'user' | 'administrator';
  readonly createdAt?: number;
  readonly signedInAt?: number;
  /** Open sessions. */
  readonly sessions: number;
}

/** The accounts of an installation. A change and its line of the audit are one step. */
export interface AccountDirectory {
  /** The newest first. */
  list(page: PageRequest): Promise<{ readonly total: number; readonly accounts: readonly ListedAccount[] }>;
  /**
   * Open sessions have the new role at once.
   *
   * @throws {NotFoundError} for a user without an account
   * @throws {ConflictError} when no administrator would remain, or the user is being erased
   */
  setRole(userId: string, role: ListedAccount['role'], line: AccessLine): Promise<ListedAccount>;
  /** Ends all sessions. @returns how many were open. @throws {NotFoundError} for a user without an account */
  endSessions(userId: string, line: AccessLine): Promise<number>;
}
