import { BugError } from '@caribou/contracts';
import type {
  AccountStore,
  ChangeOutcome,
  CreateOutcome,
  NewSession,
  OpenSession,
  StoredAccount,
} from '../ports/account-store.js';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';

const scripts = {
  create: loadScript('users/create-account'),
  open: loadScript('users/open-session'),
  read: loadScript('users/read-session'),
  list: loadScript('users/list-sessions'),
  change: loadScript('users/change-password'),
};

const created: readonly CreateOutcome[] = ['created', 'initialized', 'not_initialized', 'email_taken', 'full'];
const changed: readonly ChangeOutcome[] = ['changed', 'stale', 'email_taken'];

function oneOf<Outcome extends string>(outcomes: readonly Outcome[], reply: unknown): Outcome {
  const outcome = outcomes.find((one) => one === reply);
  if (outcome === undefined) throw new BugError(`unknown reply of an account script: ${String(reply)}`);
  return outcome;
}

const flag = (value: boolean): string => (value ? '1' : '0');
const sessionArgs = ({ digest, ttlMs, remembered }: NewSession) => [digest, ttlMs, flag(remembered)];

const toOpenSession = ([digest, openedAt, endsAt, remembered]: [string, string, string, string]): OpenSession => ({
  digest,
  openedAtMs: Number(openedAt),
  endsAtMs: Number(endsAt),
  remembered: remembered === '1',
});

/** Accounts in Redis: a hash each, one of all e-mails, and one for the sessions of each account. */
export function redisAccounts(redis: RedisConnection): AccountStore {
  const { accounts, accountOrder, administrators } = redis.keys;
  const keysOf = (userId: string): string[] => {
    const { record, sessions } = redis.keys.account(userId);
    return [record, sessions];
  };
  const byId = async (userId: string): Promise<StoredAccount | null> => {
    const { record } = redis.keys.account(userId);
    const [email, admin, password] = await redis.use((client) => client.hmget(record, 'email', 'admin', 'password'));
    if (typeof email !== 'string' || typeof password !== 'string') return null;
    return { userId, email, admin: admin === '1', password };
  };
  return {
    isInitialized: async () => (await redis.use((client) => client.hlen(accounts))) > 0,
    create: async ({ userId, email, admin, password }, { first, maxAccounts }) => {
      const keys = [accounts, redis.keys.account(userId).record, accountOrder, administrators];
      const args = [userId, email, flag(admin), password, flag(first), maxAccounts];
      return oneOf(created, await redis.run(scripts.create, keys, args));
    },
    byEmail: async (email) => {
      const userId = await redis.use((client) => client.hget(accounts, email));
      const account = userId === null ? null : await byId(userId);
      return account?.email === email ? account : null;
    },
    byId,
    openSession: async (session, password) =>
      (await redis.run(scripts.open, keysOf(session.userId), [password, ...sessionArgs(session)])) === 1,
    session: async ({ userId, digest }) => {
      const reply = (await redis.run(scripts.read, keysOf(userId), [digest])) as [string, string, string] | null;
      if (reply === null) return null;
      const [email, admin, remembered] = reply;
      return { account: { userId, email, admin: admin === '1' }, remembered: remembered === '1' };
    },
    closeSession: async ({ userId, digest }) => {
      await redis.use((client) => client.hdel(redis.keys.account(userId).sessions, digest));
    },
    sessions: async (userId) => {
      const { sessions } = redis.keys.account(userId);
      const reply = (await redis.run(scripts.list, [sessions], [])) as [string, string, string, string][];
      return reply.map(toOpenSession).sort((one, other) => other.openedAtMs - one.openedAtMs);
    },
    closeSessions: async (userId, digests) => {
      if (digests.length === 0) return 0;
      return await redis.use((client) => client.hdel(redis.keys.account(userId).sessions, ...digests));
    },
    changePassword: async ({ userId, from, to, email = '', session }) => {
      const args = [userId, from, to, email, ...sessionArgs(session)];
      return oneOf(changed, await redis.run(scripts.change, [accounts, ...keysOf(userId)], args));
    },
  };
}
