import type { ObjectStore } from '@caribou/core';
import { USER_ROOTS } from '../store/object-keys.js';

/** The character behind `/`: a prefix with it is behind all keys of the user and before those of the next. */
const BEHIND = '0';

/**
 * The first user, by the spelling of keys, after `after` that has objects; undefined when there is none. Users who were erased are
 * among them for as long as they have objects.
 */
export async function nextUserKey(store: ObjectStore, after: string): Promise<string | undefined> {
  const firsts = await Promise.all(
    USER_ROOTS.map(async (root) => {
      const { objects } = await store.list(root, after === '' ? undefined : `${root}${after}${BEHIND}`);
      return objects[0]?.key.slice(root.length).split('/')[0];
    }),
  );
  return firsts.filter((key) => key !== undefined).sort(byBytesOfPrefix)[0];
}

/** As the store orders the keys that begin with them. */
const byBytesOfPrefix = (left: string, right: string): number => (`${left}/` < `${right}/` ? -1 : 1);
