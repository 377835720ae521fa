import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type InstalledSkill, newId } from '@caribou/contracts';
import { type Clock, commandIdentity, silentLogger, type SkillStore, systemClock, type TreeStore } from '@caribou/core';
import { waitFor } from '@caribou/testing';
import { objectTreeStore } from '../plane/store/object-tree-store.js';
import { MemoryObjects } from '../testing/memory-objects.js';
import { threadFiles } from '../thread-files.js';
import { type CatalogPackage, SkillCache } from './skill-cache.js';
import { skillFiles } from './skill-files.js';
import { SkillImports } from './skill-imports.js';
import { sweepSkills } from './skill-sweep.js';
import { SkillViews } from './skill-views.js';
import { storedSkillFiles } from './stored-skill-files.js';

const USER = 'Alice';
const HOUR_MS = 3_600_000;
const LARGE = 'x'.repeat(200_000);
const SMALL_OBJECTS = { packedBelow: 1_000, packBytes: 2_000, bufferedBytes: 4_000 };
const CONTENT = { 'SKILL.md': 'find me', 'scripts/run.sh': '#!/bin/sh\n', 'refs/über.md': 'more', 'refs/large': LARGE };

let objects: MemoryObjects;
let homes: string[];
/** The records of the user's skills, as Redis would have them. */
let records: Map<string, InstalledSkill>;

beforeEach(() => {
  objects = new MemoryObjects();
  homes = [];
  records = new Map();
});
afterEach(() => homes.forEach((home) => rmSync(home, { recursive: true, force: true })));

const store: Pick<SkillStore, 'setManifest'> = {
  setManifest: (_user, { id, name }, manifest) => {
    const record = records.get(name);
    if (record?.id !== id || record.manifest !== undefined) return Promise.resolve(false);
    records.set(name, { ...record, manifest });
    return Promise.resolve(true);
  },
};

interface ProcessOptions {
  readonly clock?: Clock;
  readonly trees?: TreeStore;
  readonly maxWaitMs?: number;
}

/** A process with files below the home; several may have the same. */
function processAt(home: string, { clock = systemClock, maxWaitMs = 30_000, ...given }: ProcessOptions = {}) {
  const trees = given.trees ?? objectTreeStore(objects, SMALL_OBJECTS);
  const shared = { homeDir: home, trees, minFreeBytes: 0, clock, logger: silentLogger };
  const imports = new SkillImports({ ...shared, records: store });
  const cache = new SkillCache({ ...shared, imports, maxWaitMs });
  const views = new SkillViews(home);
  const mount = async () => views.mount(USER, await cache.provide(USER, catalog()));
  return { home, imports, cache, mount, files: storedSkillFiles({ ...shared, imports }) };
}
type Process = ReturnType<typeof processAt>;

function machine(options?: ProcessOptions): Process {
  const home = mkdtempSync(join(tmpdir(), 'caribou-skill-cache-'));
  homes.push(home);
  return processAt(home, options);
}

const catalog = (): CatalogPackage[] =>
  Array.from(records.values(), ({ id, name, bytes, manifest }) => ({
    skill: { name },
    place: ['custom', name],
    source: { kind: 'installed', id, bytes, ...(manifest === undefined ? {} : { manifest }) },
  }));

async function* chunks(text: string): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(Buffer.from(text));
}

async function install(
  files: Pick<Process['files'], 'openStaging'>,
  name: string,
  content: Readonly<Record<string, string>> = CONTENT,
): Promise<InstalledSkill> {
  const id = newId();
  const staging = await files.openStaging(USER);
  let bytes = 0;
  for (const [path, text] of Object.entries(content))
    bytes += await staging.write(path.split('/'), chunks(text), { isProgram: path.endsWith('.sh') });
  const published = await staging.publish(id);
  await staging.close();
  const skill = {
    ...{ id, name, description: 'A skill.', license: null, allowed_tools: null, bytes },
    ...{ installed_at: '2026-03-14T10:00:00.000Z', ...published },
  };
  records.set(name, skill);
  return skill;
}

const skills = (home: string, ...names: readonly string[]): string => join(home, 'users', USER, 'skills', ...names);
const listed = (path: string): readonly string[] => (existsSync(path) ? readdirSync(path).sort() : []);
const keysOf = (prefix: string): string[] => [...objects.objects.keys()].filter((key) => key.startsWith(prefix));
const makeOld = (path: string): void => utimesSync(path, 0, (Date.now() - 3 * HOUR_MS) / 1_000);

function expectWhole(directory: string, name: string): void {
  const at = (path: string): string => join(directory, 'custom', name, path);
  for (const [path, text] of Object.entries(CONTENT)) expect(readFileSync(at(path), 'utf8')).toBe(text);
  expect(listed(at(''))).toEqual(['SKILL.md', 'refs', 'scripts']);
  expect([at('scripts/run.sh'), at('SKILL.md'), at('refs')].map((path) => statSync(path).mode & 0o777)).toEqual([
    ...[0o755, 0o644, 0o755],
  ]);
}
const noteOf = (directory: string, name: string): string =>
  readFileSync(join(directory, 'custom', name, 'UNAVAILABLE.md'), 'utf8');

describe('a skill in the object store', () => {
  test('is installed on one machine, mounted on another and read on a third', async () => {
    const [installing, mounting, reading] = [machine(), machine(), machine()];
    const skill = await install(installing.files, 'mine');
    expect(skill.manifest).toMatch(/^trees\/a\.lice\//);
    expect(listed(skills(installing.home, 'installed'))).toEqual([]);
    expect(listed(skills(installing.home, 'staging'))).toEqual([]);
    expectWhole((await mounting.mount()).directory, 'mine');
    expect(listed(skills(mounting.home, 'staging'))).toEqual([]);

    const thread = { userId: USER, threadId: 't1' };
    const data = threadFiles(reading.home, commandIdentity(), () => reading.mount());
    const handle = await data.openFile(thread, '/mnt/skills/custom/mine/SKILL.md');
    expect(await handle.readFile('utf8')).toBe('find me');
    await handle.close();
  });

  test('is fetched once per machine, also when two processes need it at the same moment', async () => {
    const skill = await install(machine().files, 'mine');
    const one = machine();
    const two = processAt(one.home);
    const mounts = await Promise.all([one.mount(), one.mount(), two.mount(), two.mount()]);
    expect(new Set(mounts.map(({ directory }) => directory)).size).toBe(1);
    expectWhole(mounts[0].directory, 'mine');
    expect(listed(skills(one.home, 'fetched'))).toEqual([skill.id]);
    expect(listed(skills(one.home, 'staging'))).toEqual([]);
    const before = objects.calls.get;
    await processAt(one.home).mount();
    expect(objects.calls.get).toBe(before);
  });

  test('an install that the store fails leaves nothing here, and no manifest', async () => {
    const installing = machine();
    objects.failure = () => 'before';
    const staging = await installing.files.openStaging(USER);
    await staging.write(['SKILL.md'], chunks('x'), { isProgram: false });
    await expect(staging.publish(newId())).rejects.toMatchObject({ code: 'unavailable' });
    await staging.close();
    expect([listed(skills(installing.home, 'staging')), objects.objects.size]).toEqual([[], 0]);
  });
});

describe('a skill that cannot be fetched', () => {
  /** A clock that stands still until it is moved, for pauses; waiting is real. */
  const movable = () => {
    let nowMs = 0;
    const clock: Clock = { ...systemClock, monotonicMs: () => nowMs };
    return { clock, move: (ms: number) => (nowMs += ms) };
  };

  test('is missing alone while the store is away, with a note that says so, and is there afterwards', async () => {
    const installing = machine();
    await install(installing.files, 'first');
    const { clock, move } = movable();
    const one = machine({ clock });
    await one.mount();
    await install(installing.files, 'second');
    objects.failure = () => 'before';
    const { directory } = await one.mount();
    expectWhole(directory, 'first');
    expect(listed(join(directory, 'custom/second'))).toEqual(['UNAVAILABLE.md']);
    expect(noteOf(directory, 'second')).toMatch(/^This skill cannot be used now\. .*object store at present/);
    const calls = objects.calls.get;
    expect((await one.mount()).directory).toBe(directory);
    expect(objects.calls.get).toBe(calls);
    objects.failure = () => undefined;
    move(5_000);
    const later = (await one.mount()).directory;
    for (const name of ['first', 'second']) expectWhole(later, name);
    expect(listed(skills(one.home, 'staging'))).toEqual([]);
  });

  test.each(['trees/', 'packs/', 'blobs/'])('altered or missing objects in %s are noticed', async (prefix) => {
    await install(machine().files, 'mine');
    const [key = ''] = keysOf(prefix);
    const bytes = Buffer.from(objects.objects.get(key) ?? '');
    const altered = Buffer.from(bytes);
    altered[altered.byteLength - 1] = (altered.at(-1) ?? 0) ^ 1;
    for (const damage of [altered, undefined]) {
      if (damage === undefined) objects.objects.delete(key);
      else objects.objects.set(key, damage);
      const one = machine();
      expect(noteOf((await one.mount()).directory, 'mine')).toMatch(/missing or damaged.*operator/);
      expect([listed(skills(one.home, 'fetched')), listed(skills(one.home, 'staging'))]).toEqual([[], []]);
    }
    objects.objects.set(key, bytes);
    expectWhole((await machine().mount()).directory, 'mine');
  });

  test('a tree with a path that leaves the skill, or of another size, is refused', async () => {
    const skill = await install(machine().files, 'mine');
    const trees = objectTreeStore(objects, SMALL_OBJECTS);
    const tree = await trees.read(USER, { work: skill.manifest ?? '' }, 'work');
    const node = tree.get('SKILL.md');
    if (node === undefined) throw new Error('the tree has no SKILL.md');
    for (const path of ['../evil', '/evil', 'a/../../evil', 'more']) {
      const manifest = (await trees.write(USER, new Map([...tree, [path, node]]))) ?? '';
      const bytes = path === 'more' ? skill.bytes : skill.bytes + CONTENT['SKILL.md'].length;
      records.set('mine', { ...skill, manifest, bytes });
      const one = machine();
      expect(noteOf((await one.mount()).directory, 'mine')).toMatch(/damaged/);
      expect(listed(skills(one.home, 'fetched'))).toEqual([]);
    }
  });

  test('is not waited for beyond the limit, and is there when the fetch has ended', async () => {
    await install(machine().files, 'mine');
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const trees = objectTreeStore(objects, SMALL_OBJECTS);
    const slow: TreeStore = { ...trees, read: async (...args) => gate.then(() => trees.read(...args)) };
    const { clock, move } = movable();
    const one = machine({ trees: slow, maxWaitMs: 1, clock });
    for (const passedMs of [1, 1_000]) {
      expect(noteOf((await one.mount()).directory, 'mine')).toMatch(/being copied/);
      move(passedMs);
    }
    release();
    const isFetched = () =>
      listed(skills(one.home, 'staging')).length + 1 === listed(skills(one.home, 'fetched')).length;
    await waitFor(isFetched, { what: 'the end of the fetch' });
    expectWhole((await one.mount()).directory, 'mine');
  });
});

describe('skills of an earlier data volume', () => {
  const installHere = (home: string, name: string) => install(skillFiles(home, { minFreeBytes: 0 }), name);

  test('are brought into the store by a machine that has them, and are absent elsewhere until then', async () => {
    const [old, other] = [machine(), machine()];
    await installHere(old.home, 'mine');
    expect(noteOf((await other.mount()).directory, 'mine')).toMatch(/disk of another machine/);
    expectWhole((await old.mount()).directory, 'mine');
    await old.imports.idle();
    expect(records.get('mine')?.manifest).toBeDefined();
    expectWhole((await other.mount()).directory, 'mine');
    const { size } = objects.objects;
    await old.mount();
    await old.imports.idle();
    expect(objects.objects.size).toBe(size);
  });

  test('are imported when a gateway lists them, by one of two machines', async () => {
    const old = machine();
    const skill = await installHere(old.home, 'mine');
    const second = processAt(old.home);
    for (const { files } of [old, second]) files.importSkills?.(USER, [skill]);
    await Promise.all([old, second].map(({ imports }) => imports.idle()));
    expect(keysOf('trees/')).toContain(records.get('mine')?.manifest);
    expectWhole((await machine().mount()).directory, 'mine');
  });

  test('are not imported incomplete, nor without their files, nor while the store is away', async () => {
    const old = machine();
    const skill = await installHere(old.home, 'mine');
    objects.failure = () => 'before';
    expectWhole((await old.mount()).directory, 'mine');
    await old.imports.idle();
    objects.failure = () => undefined;
    rmSync(skills(old.home, 'installed', skill.id, 'refs/large'));
    for (const { mount, imports } of [processAt(old.home), machine()]) {
      await mount();
      await imports.idle();
    }
    rmSync(skills(old.home, 'installed', skill.id, 'SKILL.md'));
    records.set('mine', { ...skill, bytes: skill.bytes - LARGE.length - CONTENT['SKILL.md'].length });
    const again = processAt(old.home);
    await again.mount();
    await again.imports.idle();
    expect(records.get('mine')?.manifest).toBeUndefined();
    expect(keysOf('trees/').length).toBe(1);
  });
});

describe(sweepSkills, () => {
  const sweep = (home: string): Promise<void> => {
    const ids = new Set(Array.from(records.values(), ({ id }) => id));
    const idsOf = (userId: string) => Promise.resolve(userId === USER ? ids : new Set<string>());
    return sweepSkills({ homeDir: home, idsOf, signal: new AbortController().signal });
  };

  test('removes copies of skills that are gone and what a killed process has left, and nothing that is new', async () => {
    const installing = machine();
    const [stays, goes] = [await install(installing.files, 'stays'), await install(installing.files, 'goes')];
    const one = machine();
    const { directory } = await one.mount();
    // A process that was killed between its last write and the rename.
    const left = skills(one.home, 'staging', 'left');
    mkdirSync(join(left, 'refs'), { recursive: true });
    writeFileSync(join(left, 'SKILL.md'), 'half');
    records.delete('goes');
    await sweep(one.home);
    expect(listed(skills(one.home, 'fetched'))).toEqual([stays.id, goes.id].sort());
    for (const path of [left, directory, skills(one.home, 'fetched', stays.id), skills(one.home, 'fetched', goes.id)])
      makeOld(path);
    await sweep(one.home);
    expect(listed(skills(one.home, 'fetched'))).toEqual([stays.id]);
    expect([listed(skills(one.home, 'staging')), listed(skills(one.home, 'views'))]).toEqual([[], []]);
    expectWhole((await one.mount()).directory, 'stays');
  });

  test('leaves skills of a data volume, other users’ files, and a home without any', async () => {
    const old = machine();
    const skill = await install(skillFiles(old.home, { minFreeBytes: 0 }), 'mine');
    records.clear();
    makeOld(skills(old.home, 'installed', skill.id));
    const other = join(old.home, 'users/u2/threads/t1/user-data/file');
    mkdirSync(dirname(other), { recursive: true });
    writeFileSync(other, 'x');
    await sweep(old.home);
    expect([listed(skills(old.home, 'installed')), existsSync(other)]).toEqual([[skill.id], true]);
    await sweep(join(old.home, 'none'));
  });
});
