import { BugError, ConflictError, InvalidRequestError, NotFoundError, omitUndefined } from '@caribou/contracts';
import { MAX_AUDIT_LINES } from '../executions/audit-log.js';
import type { ApiKeyStore, FoundApiKey, StoredApiKey } from '../ports/account-store.js';
import { BeingErasedError } from '../ports/erasure-store.js';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';
import { parseStored } from '../redis/stored-json.js';

const scripts = {
  create: loadScript('access/create-api-key'),
  find: loadScript('access/find-api-key'),
  use: loadScript('access/use-api-key'),
  list: loadScript('access/list-api-keys'),
  rotate: loadScript('access/rotate-api-key'),
  revoke: loadScript('access/revoke-api-key'),
  erase: loadScript('access/erase-api-keys'),
};

/** API keys of an installation, with those that have ended and are still listed. */
export const MAX_API_KEYS = 1_000;

/** A key as it is stored; times are ms since 1970, and absent fields do not apply. */
interface ApiKeyRecord {
  readonly name: string;
  readonly userId: string;
  readonly role: StoredApiKey['role'];
  readonly label: string;
  readonly digest: string;
  readonly createdAt: number;
  readonly createdBy: string;
  readonly expiresAt?: number;
  readonly rotatedAt?: number;
  readonly previous?: { readonly digest: string; readonly until: number };
  readonly revokedAt?: number;
}

/** API keys in Redis: a hash of records, one of digests of their secrets, one of last uses, and their order. */
export function redisApiKeys(redis: RedisConnection): ApiKeyStore {
  const { records, digests, order, used } = redis.keys.apiKeys;
  const { audit, erasing } = redis.keys;
  if (erasing === undefined) throw new BugError('this part of the store has no API keys');
  const keys = [records, digests, order, used];
  return {
    find: async (digest) => {
      const reply = (await redis.run(scripts.find, keys, [digest])) as string[] | null;
      return reply === null ? null : foundKey(reply);
    },
    markUsed: async (keyId) => {
      await redis.run(scripts.use, keys, [keyId]);
    },
    create: async ({ keyId, digest, label, expiresAt, ...rest }, line) => {
      const record = JSON.stringify({ ...rest, digest, label, ...omitUndefined({ expiresAt }) });
      const args = [keyId, record, MAX_API_KEYS, JSON.stringify(line), MAX_AUDIT_LINES];
      const reply = (await redis.run(scripts.create, [...keys, audit, erasing], args)) as unknown[];
      if (reply[0] !== 'created') throw creationRefusal(String(reply[0]));
      return storedKey(keyId, [reply[1], ''], Number(reply[2]));
    },
    list: async ({ offset, limit }) => {
      const [now, total, ...fields] = (await redis.run(scripts.list, keys, [offset, limit])) as unknown[];
      const listed: StoredApiKey[] = [];
      for (let at = 0; at < fields.length; at += 3)
        listed.push(storedKey(String(fields[at]), fields.slice(at + 1, at + 3), Number(now)));
      return { total: Number(total), keys: listed };
    },
    rotate: async (keyId, { digest, overlapMs }, line) => {
      const args = [keyId, digest, overlapMs, JSON.stringify(line), MAX_AUDIT_LINES];
      const reply = (await redis.run(scripts.rotate, [...keys, audit], args)) as unknown[];
      if (reply[0] === 'missing') throw unknownKey(keyId);
      if (reply[0] === 'ended') throw new ConflictError('the key was revoked or has expired: create another one');
      return storedKey(keyId, [reply[1], reply[3]], Number(reply[2]));
    },
    revoke: async (keyId, line) => {
      const args = [keyId, JSON.stringify(line), MAX_AUDIT_LINES];
      if ((await redis.run(scripts.revoke, [...keys, audit], args)) === 'missing') throw unknownKey(keyId);
    },
    eraseUser: async (userId) => {
      await redis.run(scripts.erase, keys, [userId]);
    },
  };
}

const unknownKey = (keyId: string): NotFoundError => new NotFoundError(`key_id: there is no API key "${keyId}"`);

function creationRefusal(outcome: string): Error {
  switch (outcome) {
    case 'past':
      return new InvalidRequestError('expires_at: must be in the future', { details: { field: 'expires_at' } });
    case 'full':
      return new ConflictError(`there are ${MAX_API_KEYS} API keys, which is the limit: revoke some`);
    case 'erasing':
      return new BeingErasedError('this user is being erased: try again later');
    default:
      return new BugError(`unknown reply of create-api-key: ${outcome}`);
  }
}

function foundKey([keyId = '', userId = '', role, label = '', unmarked]: readonly string[]): FoundApiKey {
  return { keyId, userId, role: role === 'administrator' ? role : 'user', label, isUseUnmarked: unmarked === '1' };
}

function storedKey(keyId: string, [record, lastUse]: readonly unknown[], nowMs: number): StoredApiKey {
  const { digest: _secret, previous, ...rest } = parseStored<ApiKeyRecord>(String(record));
  const previousUntil = previous !== undefined && previous.until > nowMs ? previous.until : undefined;
  const lastUsedAt = lastUse === '' ? undefined : Number(lastUse);
  return { keyId, ...rest, status: statusOf(rest, nowMs), ...omitUndefined({ lastUsedAt, previousUntil }) };
}

function statusOf({ revokedAt, expiresAt }: Partial<ApiKeyRecord>, nowMs: number): StoredApiKey['status'] {
  if (revokedAt !== undefined) return 'revoked';
  return expiresAt !== undefined && expiresAt <= nowMs ? 'expired' : 'active';
}
