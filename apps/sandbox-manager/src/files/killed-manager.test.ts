import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { ConflictError } from '@caribou/contracts';
import { type FileGenerations, type ObjectStore, silentLogger, systemClock, type ThreadKey } from '@caribou/core';
import { objectTreeStore, volumeIdOf, WorkingCopies } from '@caribou/files';
import { openObjectStore } from '@caribou/objects';
import { redisFileGenerations, redisSandboxRegistry } from '@caribou/state';
import { dyingProcess, type StoreFixture, temporaryFolder, thread, useStore, waitFor } from '@caribou/testing';
import { PlaneFileSync } from './plane-file-sync.js';

jest.setTimeout(120_000);

const folder = temporaryFolder();
const large = Buffer.alloc(100_000, 'l');
/** A process that is dead for others still waits, which must not hold the test. */
const clock = {
  ...systemClock,
  sleep: (ms: number, signal?: AbortSignal) =>
    setTimeout(ms, undefined, { ref: false, ...(signal === undefined ? {} : { signal }) }),
};

let store: StoreFixture;
let generations: FileGenerations;
useStore((opened) => {
  store = opened;
  generations = redisFileGenerations(store.redis);
});

function newHome(): string {
  const home = mkdtempSync(join(folder, 'home-'));
  chmodSync(home, 0o755);
  return home;
}

interface ManagerOptions {
  readonly port?: <T extends object>(port: T) => T;
  readonly maxDirectBytes?: number;
  readonly generations?: FileGenerations;
}

/** The files' part of a manager's process that has just started on a machine. */
function manager(managerId: string, homeDir: string, options: ManagerOptions = {}): PlaneFileSync {
  const { port = (living) => living, maxDirectBytes = 1_000_000 } = options;
  const path = join(folder, 'objects');
  const settings = { kind: 'folder', folder: { path, isDurable: false, timeoutMs: 5_000 } } as const;
  const objects: ObjectStore = openObjectStore(settings, silentLogger);
  return new PlaneFileSync({
    copies: new WorkingCopies({ homeDir, store: objectTreeStore(port(objects)) }),
    generations: port(options.generations ?? generations),
    writer: { managerId, machine: volumeIdOf(homeDir) },
    clock,
    logger: silentLogger,
    maxDirectBytes,
    maxWaitMs: 60_000,
    machineWaitMs: 30_000,
  });
}

const userData = (home: string, { userId, threadId }: ThreadKey): string =>
  join(home, 'users', userId, 'threads', threadId, 'user-data');

function write(home: string, key: ThreadKey, files: Readonly<Record<string, string | Buffer>>): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(userData(home, key), name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
}

/** All regular files of a copy. */
function contentsOf(home: string, key: ThreadKey): Readonly<Record<string, string>> {
  const root = userData(home, key);
  const entries = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = entries.map((entry) => join(entry.parentPath, entry.name)).sort();
  return Object.fromEntries(paths.map((path) => [relative(root, path), readFileSync(path, 'utf8')]));
}

/** What a command changes: files of every kind are added, replaced and removed. */
function change(home: string, key: ThreadKey): void {
  write(home, key, { 'workspace/a': 'changed', 'outputs/new': 'new', 'outputs/large': Buffer.concat([large, large]) });
  rmSync(join(userData(home, key), 'workspace/gone'));
}

interface Scene {
  readonly key: ThreadKey;
  readonly home: string;
  /** Ends the thread's manager, as others of its machine see it, and gives the thread to another one. */
  readonly giveTo: (managerId: string) => Promise<void>;
}

/** A thread that is bound to the manager m1, with a first generation. */
async function newScene(): Promise<Scene> {
  const key = thread();
  await store.admit(key);
  const { lease } = await store.claim(key);
  const registry = redisSandboxRegistry(store.redis);
  const home = newHome();
  const giveTo = async (managerId: string): Promise<void> => {
    const holder = await registry.binding(key);
    if (holder !== null) await registry.releaseManager(holder.managerId);
    await registry.renewManager(managerId, 60_000);
    await registry.bind(key, { managerId, sandboxId: 'box', driver: 'bwrap', epoch: lease.epoch });
  };
  await giveTo('m1');
  const first = manager('m1', home);
  await first.refresh(key);
  write(home, key, { 'workspace/a': 'old', 'workspace/gone': 'gone', 'outputs/large': large });
  await first.publish(key);
  return { key, home, giveTo };
}

/** The files as a machine without a copy gets them from the store. */
async function hydrated({ key, giveTo }: Scene, managerId: string): Promise<Readonly<Record<string, string>>> {
  const home = newHome();
  await giveTo(managerId);
  await manager(managerId, home).refresh(key);
  return contentsOf(home, key);
}

const old = { 'outputs/large': String(large), 'workspace/a': 'old', 'workspace/gone': 'gone' };
const changed = {
  'outputs/large': String(Buffer.concat([large, large])),
  'outputs/new': 'new',
  'workspace/a': 'changed',
};

interface Outcome {
  /** Whether the caller got the result of the command that changed the files. */
  readonly isGiven: boolean;
  readonly hasDied: boolean;
}

/** A command by a process that dies at one of its calls, before or after its result is given. */
async function commandUntilDeath(
  { key, home }: Scene,
  { maxDirectBytes, ...death }: { readonly call: number; readonly after: boolean; readonly maxDirectBytes: number },
): Promise<Outcome> {
  const { port, died } = dyingProcess(death);
  let hasDied = false;
  const ended = died.then(() => {
    hasDied = true;
    return false;
  });
  const mortal = manager('m1', home, { port, maxDirectBytes });
  const isReady = await Promise.race([mortal.refresh(key).then(() => true), ended]);
  if (!isReady) return { isGiven: false, hasDied };
  change(home, key);
  const isGiven = await Promise.race([mortal.publish(key).then(() => true), ended]);
  const isStored = async () => hasDied || (await generations.head(key))?.unpublished === undefined;
  if (isGiven) await waitFor(isStored, { what: 'the changes to be stored', everyMs: 2 });
  return { isGiven, hasDied };
}

describe('a manager that is killed at any call to Redis or the object store', () => {
  test.each([
    ['before the answer', 1_000_000],
    ['after the answer', 1_000],
  ])(
    'while it stores changes %s: every file of a result is in the store, nothing is half',
    async (_name, maxDirectBytes) => {
      const given = { beforeDeath: 0, never: 0 };
      for (const after of [false, true]) {
        for (let call = 1; ; call += 1) {
          const scene = await newScene();
          const { key, home } = scene;
          const { isGiven, hasDied } = await commandUntilDeath(scene, { call, after, maxDirectBytes });
          if (!hasDied) {
            expect(await hydrated(scene, 'm9')).toEqual(changed);
            break;
          }
          given[isGiven ? 'beforeDeath' : 'never'] += 1;
          await redisSandboxRegistry(store.redis).releaseManager('m1');
          // Another process of the machine takes the thread.
          const next = manager('m2', home);
          await scene.giveTo('m2');
          await next.refresh(key);
          expect((await generations.head(key))?.unpublished).toBeUndefined();
          const isChanged = contentsOf(home, key)['workspace/a'] === 'changed';
          const found = await hydrated(scene, 'm3');
          if (isGiven) expect(found).toEqual(changed);
          else expect([old, changed]).toContainEqual(found);
          // The next command of the thread there; nothing is in its way.
          await scene.giveTo('m2');
          await next.refresh(key);
          write(home, key, { 'workspace/later': 'later' });
          await next.publish(key);
          expect(await hydrated(scene, 'm4')).toEqual({ ...(isChanged ? changed : old), 'workspace/later': 'later' });
        }
      }
      expect(given.never).toBeGreaterThan(4);
      expect(given.beforeDeath > 6).toBe(maxDirectBytes === 1_000);
    },
  );

  test('while it fetches files: the next process of the machine completes it, and takes nothing for a change', async () => {
    let deaths = 0;
    for (const after of [false, true]) {
      for (let call = 1; ; call += 1) {
        const scene = await newScene();
        const { key, home, giveTo } = scene;
        const other = newHome();
        await giveTo('m2');
        await manager('m2', other).refresh(key);
        await giveTo('m1');
        const first = manager('m1', home);
        await first.refresh(key);
        change(home, key);
        await first.publish(key);
        await giveTo('m2');
        const { port, died } = dyingProcess({ call, after });
        const refresh = manager('m2', other, { port }).refresh(key);
        const isDone = await Promise.race([refresh.then(() => true), died.then(() => false)]);
        const { trees } = (await generations.head(key)) ?? {};
        await giveTo('m3');
        const next = manager('m3', other);
        await next.refresh(key);
        await next.publish(key);
        expect(contentsOf(other, key)).toEqual(changed);
        expect((await generations.head(key))?.trees).toEqual(trees);
        expect(await hydrated(scene, 'm4')).toEqual(changed);
        if (isDone) break;
        deaths += 1;
      }
    }
    expect(deaths).toBeGreaterThan(4);
  });
});

describe('when a machine is lost with changes', () => {
  test('its successor says so although its first attempt to take the thread failed', async () => {
    const scene = await newScene();
    const { key, home, giveTo } = scene;
    await generations.noteUnpublished(key, { managerId: 'm1', machine: volumeIdOf(home) });
    await giveTo('m2');
    let failures = 1;
    const failing: FileGenerations = {
      ...generations,
      commit: async (...args) => {
        failures -= 1;
        if (failures >= 0) throw new ConflictError('not now');
        return generations.commit(...args);
      },
    };
    const next = manager('m2', newHome(), { generations: failing });
    await expect(next.refresh(key)).rejects.toThrow('not now');
    await next.refresh(key);
    expect(next.takeNotice(key)).toMatch(/^\[files that were changed since .* are missing/);
    expect((await generations.head(key))?.unpublished).toBeUndefined();
  });

  test('its successor is killed at any call while it takes the thread over: the next one says so', async () => {
    let deaths = 0;
    for (const after of [false, true]) {
      for (let call = 1; ; call += 1) {
        const { key, home, giveTo } = await newScene();
        await generations.noteUnpublished(key, { managerId: 'm1', machine: volumeIdOf(home) });
        const other = newHome();
        await giveTo('m2');
        const { port, died } = dyingProcess({ call, after });
        const refresh = manager('m2', other, { port }).refresh(key);
        const isDone = await Promise.race([refresh.then(() => true), died.then(() => false)]);
        await giveTo('m3');
        const next = manager('m3', other);
        await next.refresh(key);
        expect(next.takeNotice(key)).toMatch(/^\[files that were changed since .* are missing/);
        if (isDone) break;
        deaths += 1;
      }
    }
    expect(deaths).toBeGreaterThan(4);
  });

  test('a thread whose changes are on a machine goes there, whoever committed before', async () => {
    const { key, home, giveTo } = await newScene();
    const [there, elsewhere] = [newHome(), newHome()];
    await giveTo('m2');
    await generations.noteUnpublished(key, { managerId: 'm2', machine: volumeIdOf(there) });
    expect(await manager('m3', elsewhere).machineElsewhere(key)).toEqual({
      machine: volumeIdOf(there),
      waitMs: 30_000,
    });
    expect(await manager('m3', home).machineElsewhere(key)).toMatchObject({ machine: volumeIdOf(there) });
    expect(await manager('m4', there).machineElsewhere(key)).toBeUndefined();
  });
});
