import { silentLogger, type SharedDocuments } from '@caribou/core';
import type { Locks } from '@caribou/state';
import { EVERY_MS, FileCollection, type FileCollectionPorts } from './file-collection.js';

/** A store without objects, which counts its listings and can be away. */
function emptyStore(state: { lists: number; isAway: boolean }): FileCollectionPorts['store'] {
  const list = () => {
    state.lists += 1;
    return state.isAway ? Promise.reject(new Error('away')) : Promise.resolve({ objects: [] });
  };
  const none = () => Promise.reject(new Error('there is no object'));
  return {
    list,
    get: none,
    put: () => Promise.resolve(),
    head: () => Promise.resolve(undefined),
    remove: () => Promise.resolve(),
    removeLeftovers: () => Promise.resolve(0),
  };
}

function memoryLocks(held: Map<string, string>, times: number[]): Locks {
  return {
    acquire: (name, owner, forMs) => {
      times.push(forMs);
      if (held.has(name)) return Promise.resolve(false);
      held.set(name, owner);
      return Promise.resolve(true);
    },
    release: (name, owner) => {
      if (held.get(name) === owner) held.delete(name);
      return Promise.resolve();
    },
  };
}

const documents: Pick<SharedDocuments, 'read' | 'write'> = {
  read: () => Promise.resolve({ version: 0, value: undefined }),
  write: () => Promise.resolve(1),
};

describe(FileCollection, () => {
  const state = { lists: 0, isAway: false };
  const held = new Map<string, string>();
  const times: number[] = [];
  const gateway = (): FileCollection =>
    new FileCollection({
      store: emptyStore(state),
      trees: { ...({} as FileCollectionPorts['trees']) },
      generations: { ...({} as FileCollectionPorts['generations']) },
      locks: memoryLocks(held, times),
      documents,
      moreRoots: () => Promise.resolve([]),
      logger: silentLogger,
    });

  test('of several gateways one collects in six hours, unless it fails', async () => {
    state.isAway = true;
    await expect(gateway().tick()).rejects.toThrow('away');
    expect(held.size).toBe(0);
    state.isAway = false;
    await gateway().tick();
    expect([held.size, times.at(-1)]).toEqual([1, EVERY_MS]);
    const { lists } = state;
    expect(await gateway().tick()).toBeGreaterThan(0);
    expect(state.lists).toBe(lists);
  });
});
