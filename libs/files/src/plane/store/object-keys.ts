import { randomBytes } from 'node:crypto';
import { UserId } from '@caribou/contracts';

/**
 * Keys of a user's objects. Each has a random part, so that no key is ever used twice: what garbage collection has found to be
 * without a reference cannot get one while it is being removed.
 */

/** Capital letters, which keys cannot have, are followed by a point, which ids cannot have. */
const keyOfUser = (userId: string): string =>
  UserId.parse(userId).replace(/[A-Z]/g, (letter) => `${letter.toLowerCase()}.`);

/** The user of a part of a key; undefined for one that no user has. */
export function userOfKey(part: string): string | undefined {
  const userId = part.replace(/([a-z])\./g, (_, letter: string) => letter.toUpperCase());
  return UserId.safeParse(userId).success && keyOfUser(userId) === part ? userId : undefined;
}

/** What keys of users' objects begin with, before the user. */
export const USER_ROOTS = ['blobs/', 'packs/', 'trees/'] as const;

const random = (): string => randomBytes(16).toString('hex');

/** Key of an object with one large file. */
export const newBlobKey = (userId: string, sha256: string): string =>
  `blobs/${keyOfUser(userId)}/${sha256.slice(0, 2)}/${sha256}-${random()}`;

/** Key of an object with many small files. */
export const newPackKey = (userId: string): string => `packs/${keyOfUser(userId)}/${random()}`;

export const newTreeKey = (userId: string): string => `${treePrefix(userId)}${random()}`;

export const treePrefix = (userId: string): string => `trees/${keyOfUser(userId)}/`;

/** The prefixes of all objects of a user: contents and trees. */
export const userPrefixes = (userId: string): readonly string[] =>
  USER_ROOTS.map((root) => `${root}${keyOfUser(userId)}/`);
