import { BugError, ConflictError, DEFAULT_USER_ID, NotFoundError } from '@caribou/contracts';
import { MAX_AUDIT_LINES } from '../executions/audit-log.js';
import type { AccountDirectory, ListedAccount } from '../ports/account-store.js';
import { BeingErasedError } from '../ports/erasure-store.js';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';

const scripts = {
  list: loadScript('access/list-accounts'),
  setRole: loadScript('access/set-role'),
  endSessions: loadScript('access/end-sessions'),
};

/** The accounts of an installation as administrators see and change them. */
export function redisAccountDirectory(redis: RedisConnection): AccountDirectory {
  const { accounts, accountOrder, accountPrefix, administrators, audit, erasing } = redis.keys;
  if (erasing === undefined) throw new BugError('this part of the store has no accounts');
  return {
    list: async ({ offset, limit }) => {
      const args = [accountPrefix, offset, limit];
      const [total, ...rows] = (await redis.run(scripts.list, [accounts, accountOrder], args)) as [number, ...Row[]];
      return { total, accounts: rows.map(listedAccount) };
    },
    setRole: async (userId, role, line) => {
      const keys = [redis.keys.account(userId).record, administrators, erasing, audit];
      const flag = role === 'administrator' ? '1' : '0';
      const args = [userId, flag, accountPrefix, DEFAULT_USER_ID, JSON.stringify(line), MAX_AUDIT_LINES];
      const [outcome, row] = (await redis.run(scripts.setRole, keys, args)) as [string, Row?];
      if (outcome === 'missing') throw unknownAccount(userId);
      if (outcome === 'erasing') throw new BeingErasedError('this user is being erased');
      if (outcome === 'last' || row === undefined)
        throw new ConflictError('this is the last administrator: make another account that of an administrator first');
      return listedAccount(row);
    },
    endSessions: async (userId, line) => {
      const { record, sessions } = redis.keys.account(userId);
      const args = [JSON.stringify(line), MAX_AUDIT_LINES];
      const ended = Number(await redis.run(scripts.endSessions, [record, sessions, audit], args));
      if (ended < 0) throw unknownAccount(userId);
      return ended;
    },
  };
}

/** As `account-row.lua` gives it. */
type Row = readonly [userId: string, email: string, admin: string, created: string, signedIn: string, sessions: number];

function listedAccount([userId, email, admin, created, signedIn, sessions]: Row): ListedAccount {
  return {
    userId,
    email,
    role: admin === '1' ? 'administrator' : 'user',
    ...(created === '' ? {} : { createdAt: Number(created) }),
    ...(signedIn === '' ? {} : { signedInAt: Number(signedIn) }),
    sessions,
  };
}

const unknownAccount = (userId: string): NotFoundError =>
  new NotFoundError(`user_id: there is no account of "${userId}"`);
