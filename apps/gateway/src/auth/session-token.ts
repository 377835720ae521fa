import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { UserId } from '@caribou/contracts';
import type { SessionKey } from '@caribou/state';

const SECRET_BYTES = 32;
const TOKEN = /^([\w-]{1,64})\.([\w-]{43})$/;

const hash = (text: string): string => createHash('sha256').update(text).digest('base64url');

/** A token for a new session: the user id and 256 random bits, of which the store has only a hash. */
export const newSessionToken = (userId: string): string =>
  `${userId}.${randomBytes(SECRET_BYTES).toString('base64url')}`;

/** The key of the token's session; undefined when the token is malformed. */
export function sessionKeyOf(token: string): SessionKey | undefined {
  const [, userId, secret] = TOKEN.exec(token) ?? [];
  if (secret === undefined || !UserId.safeParse(userId).success) return undefined;
  return { userId: userId ?? '', digest: hash(secret) };
}

/**
 * The CSRF token that a web client must repeat in X-CSRF-Token. It is derived from the session token, so that another
 * site of the same domain, which can set cookies, cannot forge it, and it does not reveal the session token.
 */
export const csrfTokenOf = (token: string): string => hash(`csrf:${token}`);

export function isCsrfToken(given: unknown, token: string): boolean {
  const expected = Buffer.from(csrfTokenOf(token));
  const actual = Buffer.from(typeof given === 'string' ? given : '');
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}
