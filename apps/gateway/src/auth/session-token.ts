import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { UserId } from '@caribou/contracts';
import type { SessionKey } from '@caribou/core';

const SECRET_BYTES = 32;
const TOKEN = /^([\w-]{1,64})\.([\w-]{43})$/;

const hash = (text: string): string => createHash('sha256').update(text).digest('base64url');

/** A token for a new session of the user: whose it is, and 256 random bits of which the store keeps a hash. */
export const newSessionToken = (userId: string): string =>
  `${userId}.${randomBytes(SECRET_BYTES).toString('base64url')}`;

/** Which session a token is of; undefined when it is no token. */
export function sessionKeyOf(token: string): SessionKey | undefined {
  const [, userId, secret] = TOKEN.exec(token) ?? [];
  if (secret === undefined || !UserId.safeParse(userId).success) return undefined;
  return { userId: userId ?? '', digest: hash(secret) };
}

/**
 * What the page must repeat in X-CSRF-Token. It follows from the session's token, so that another site of the same
 * domain, which can set cookies, cannot make one up; and it tells nothing of that token.
 */
export const csrfTokenOf = (token: string): string => hash(`csrf:${token}`);

export function isCsrfToken(given: unknown, token: string): boolean {
  const expected = Buffer.from(csrfTokenOf(token));
  const actual = Buffer.from(typeof given === 'string' ? given : '');
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}
