import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ApiKey } from '@caribou/config';
import type { Principal } from './principal.js';

/** The beginning of keys that administrators make, by which scanners for secrets and our logs recognise them. */
export const KEY_PREFIX = 'cbu_';
const SECRET_BYTES = 32;

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The SHA-256 of a key in hexadecimal digits, which is all that is stored of it. */
export const keyDigest = (key: string): string => digest(key).toString('hex');

/** A new key of 256 random bits. */
export const newApiKey = (): string => `${KEY_PREFIX}${randomBytes(SECRET_BYTES).toString('base64url')}`;

/** Looks keys up in constant time: the digest of the given key is compared with that of every known key. */
export function createKeyFinder(keys: readonly ApiKey[]): (given: string) => Principal | undefined {
  const ring = keys.map(({ key, userId, admin }) => {
    const own = digest(key.reveal());
    return { digest: own, principal: { userId, admin, keyId: own.toString('hex') } };
  });
  return (given) => {
    const asked = digest(given);
    let found: Principal | undefined;
    for (const entry of ring) if (timingSafeEqual(entry.digest, asked)) found = entry.principal;
    return found;
  };
}

/** The API key in `X-Api-Key`, or else in `Authorization: Bearer`. */
export function keyOf(headers: Readonly<Record<string, string | string[] | undefined>>): string | undefined {
  const own = headers['x-api-key'];
  if (typeof own === 'string' && own !== '') return own;
  const { authorization } = headers;
  const match = typeof authorization === 'string' ? /^Bearer +(\S+)$/i.exec(authorization) : null;
  return match?.[1];
}
