import type { AuthConfig } from '@caribou/config';
import {
  BugError,
  DEFAULT_USER_ID,
  InvalidRequestError,
  newId,
  type NewAccountInput,
  RateLimitedError,
  type RouteInput,
  type signInRoutes,
} from '@caribou/contracts';
import type {
  AccountStore,
  AttemptLimit,
  AttemptStore,
  CreateOutcome,
  NewSession,
  StoredAccount,
} from '@caribou/state';
import { Injectable } from '@nestjs/common';
import { Dependency } from '../dependency.js';
import type { GatewaySettings } from '../settings.js';
import { clientNetwork } from './client-network.js';
import type { Passwords } from './passwords.js';
import type { Principal } from './principal.js';
import type { OpenedSession } from './session-cookies.js';
import { newSessionToken, sessionKeyOf } from './session-token.js';
import { SignInRefusal } from './sign-in-refusal.js';

type Body<Name extends 'login' | 'changePassword'> = RouteInput<(typeof signInRoutes)[Name]>['body'];

/** A request body and the address of its sender. */
interface From<Input> {
  readonly body: Input;
  readonly address: string;
}

interface OpenedSignIn {
  readonly principal: Principal;
  readonly session: OpenedSession;
}

/** Accounts, passwords and sessions. Methods that change them throw SignInRefusal while sign-in is disabled. */
@Injectable()
export class SignInService {
  private readonly settings: AuthConfig;

  constructor(
    @Dependency('accounts') private readonly accounts: AccountStore,
    @Dependency('attempts') private readonly attempts: AttemptStore,
    @Dependency('passwords') private readonly passwords: Passwords,
    @Dependency('settings') { auth }: GatewaySettings,
  ) {
    this.settings = auth;
  }

  async status() {
    const { enabled, allowRegistration } = this.settings;
    return {
      needs_setup: enabled && !(await this.accounts.isInitialized()),
      registration_enabled: enabled && allowRegistration,
    };
  }

  /** Creates the first account. It owns everything that was made without sign-in, because it has the same user id. */
  async initialize({ body, address }: From<NewAccountInput>): Promise<OpenedSignIn> {
    this.requireEnabled();
    if (await this.accounts.isInitialized()) throw refusalOf('initialized');
    await this.countAttempt([this.addressLimit(address)]);
    return await this.create({ userId: DEFAULT_USER_ID, admin: true }, body);
  }

  async register({ body, address }: From<NewAccountInput>): Promise<OpenedSignIn> {
    this.requireEnabled();
    if (!this.settings.allowRegistration)
      throw new SignInRefusal(403, 'registration_disabled', 'the operator of this installation makes no accounts here');
    await this.countAttempt([this.addressLimit(address)]);
    return await this.create({ userId: newId(), admin: false }, body);
  }

  /** Answers the same after the same time whether or not the account exists, so that nobody can probe for accounts. */
  async login({ body, address }: From<Body<'login'>>): Promise<OpenedSignIn> {
    this.requireEnabled();
    const limits = [this.accountLimit(body.username), this.addressLimit(address)];
    return await this.withAttemptLimit(limits, async () => {
      const account = await this.accounts.byEmail(body.username);
      const right = await this.passwords.matches(body.password, account?.password);
      const opened = right && account !== null ? await this.openSession(account, body.remember_me) : null;
      if (opened === null) throw new SignInRefusal(401, 'invalid_credentials', 'e-mail or password is wrong');
      return opened;
    });
  }

  /** Ends the session of the token; does nothing for a malformed token. */
  async logout(token: string | undefined): Promise<void> {
    const key = token === undefined ? undefined : sessionKeyOf(token);
    if (key !== undefined && this.settings.enabled) await this.accounts.closeSession(key);
  }

  /**
   * Changes the password and ends all other sessions. A wrong password is a 400: on a 401, clients leave their page.
   */
  async changePassword(
    { userId, session }: Principal,
    { body, address }: From<Body<'changePassword'>>,
  ): Promise<OpenedSignIn> {
    this.requireEnabled();
    if (session === undefined) throw new SignInRefusal(400, 'invalid_credentials', 'a key has no password to change');
    const wrong = new SignInRefusal(400, 'invalid_credentials', 'the current password is wrong');
    return await this.withAttemptLimit([this.accountLimit(session.email), this.addressLimit(address)], async () => {
      const account = await this.accounts.byId(userId);
      const right = await this.passwords.matches(body.current_password, account?.password);
      if (!right || account === null) throw wrong;
      return await this.change(account, body, session.remembered, wrong);
    });
  }

  private async change(
    account: StoredAccount,
    body: Body<'changePassword'>,
    wasRemembered: boolean,
    wrong: Error,
  ): Promise<OpenedSignIn> {
    const { userId, password: from } = account;
    const email = body.new_email ?? account.email;
    const to = await this.passwords.hash(body.new_password);
    const { session, stored } = this.newSession(userId, body.remember_me ?? wasRemembered);
    const outcome = await this.accounts.changePassword({ userId, from, to, email, session: stored });
    if (outcome === 'stale') throw wrong;
    if (outcome === 'email_taken') throw refusalOf(outcome);
    return { principal: principalOfAccount({ ...account, email }, session), session };
  }

  private async create(who: Pick<StoredAccount, 'userId' | 'admin'>, body: NewAccountInput): Promise<OpenedSignIn> {
    const account = { ...who, email: body.email, password: await this.passwords.hash(body.password) };
    const { maxAccounts } = this.settings;
    const outcome = await this.accounts.create(account, { first: who.admin, maxAccounts });
    if (outcome !== 'created') throw refusalOf(outcome);
    const opened = await this.openSession(account, body.remember_me);
    if (opened === null) throw new BugError('the account changed during its registration');
    return opened;
  }

  /** Opens a session; returns null when the password was changed meanwhile. */
  private async openSession(account: StoredAccount, remembered: boolean): Promise<OpenedSignIn | null> {
    const { session, stored } = this.newSession(account.userId, remembered);
    if (!(await this.accounts.openSession(stored, account.password))) return null;
    return { principal: principalOfAccount(account, session), session };
  }

  private newSession(userId: string, remembered: boolean): { session: OpenedSession; stored: NewSession } {
    const token = newSessionToken(userId);
    const key = sessionKeyOf(token);
    if (key === undefined) throw new BugError('the generated session token is malformed');
    const ttlMs = remembered ? this.settings.rememberedSessionMs : this.settings.sessionMs;
    return { session: { token, ttlMs, remembered }, stored: { ...key, ttlMs, remembered } };
  }

  private requireEnabled(): void {
    if (!this.settings.enabled)
      throw new SignInRefusal(403, 'sign_in_disabled', 'sign-in is off: auth.enabled of config.yaml turns it on');
  }

  /**
   * Runs an attempt that may be a guessed password. It is counted before it runs, because many may run at once, and
   * refunded unless the password was wrong.
   */
  private async withAttemptLimit<T>(limits: readonly AttemptLimit[], attempt: () => Promise<T>): Promise<T> {
    await this.countAttempt(limits);
    let outcome: { readonly value: T };
    try {
      outcome = { value: await attempt() };
    } catch (error) {
      if (!(error instanceof SignInRefusal)) await this.attempts.refund(limits);
      throw error;
    }
    await this.attempts.refund(limits);
    return outcome.value;
  }

  /** @throws {RateLimitedError} */
  private async countAttempt(limits: readonly AttemptLimit[]): Promise<void> {
    const retryAfterMs = await this.attempts.count(limits, this.settings.failureWindowMs);
    if (retryAfterMs > 0)
      throw new RateLimitedError('too many attempts; try again later', { details: { retryAfterMs } });
  }

  private accountLimit(email: string): AttemptLimit {
    return { kind: 'account', name: email, limit: this.settings.maxFailuresPerAccount };
  }

  private addressLimit(address: string): AttemptLimit {
    return { kind: 'address', name: clientNetwork(address), limit: this.settings.maxFailuresPerAddress };
  }
}

const principalOfAccount = ({ userId, admin, email }: StoredAccount, { remembered }: OpenedSession): Principal => ({
  userId,
  admin,
  session: { email, remembered },
});

function refusalOf(outcome: Exclude<CreateOutcome, 'created'>): Error {
  switch (outcome) {
    case 'initialized':
      return new SignInRefusal(409, 'system_already_initialized', 'there is an administrator already');
    case 'not_initialized':
      return new SignInRefusal(409, 'system_not_initialized', 'the first administrator is still to be made');
    case 'email_taken':
      return new SignInRefusal(409, 'email_already_exists', 'this e-mail has an account already');
    case 'full':
      return new InvalidRequestError('auth.max_accounts is reached: there can be no further account');
  }
}
