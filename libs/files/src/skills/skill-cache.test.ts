import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from '@caribou/contracts';
import { type Clock, commandIdentity, systemClock, type TreeStore } from '@caribou/core';
import { waitFor } from '@caribou/testing';
import { objectTreeStore } from '../plane/store/object-tree-store.js';
import {
  chunks,
  CONTENT,
  listed,
  noteOf,
  SkillFixture,
  skillIn,
  skillsAt,
  SMALL_OBJECTS,
  USER,
  wholeSkill,
} from '../testing/skill-fixture.js';
import { threadFiles } from '../thread-files.js';

let fixture: SkillFixture;
beforeEach(() => (fixture = new SkillFixture()));
afterEach(() => fixture.close());

describe('a skill in the object store', () => {
  test('is installed on one machine, mounted on another and read on a third', async () => {
    const [installing, mounting, reading] = [fixture.machine(), fixture.machine(), fixture.machine()];
    const skill = await fixture.install(installing.files, 'mine');
    expect(skill.manifest).toMatch(/^trees\/a\.lice\//);
    expect(listed(skillsAt(installing.home, 'installed'))).toEqual([]);
    expect(listed(skillsAt(installing.home, 'staging'))).toEqual([]);
    expect(skillIn((await mounting.mount()).directory, 'mine')).toEqual(wholeSkill);
    expect(listed(skillsAt(mounting.home, 'staging'))).toEqual([]);

    const thread = { userId: USER, threadId: 't1' };
    const data = threadFiles(reading.home, commandIdentity(), { skills: () => reading.mount() });
    const handle = await data.openFile(thread, '/mnt/skills/custom/mine/SKILL.md');
    expect(await handle.readFile('utf8')).toBe('find me');
    await handle.close();
  });

  test('is fetched once per machine, also when two processes need it at the same moment', async () => {
    const skill = await fixture.install(fixture.machine().files, 'mine');
    const one = fixture.machine();
    const two = fixture.processAt(one.home);
    const mounts = await Promise.all([one.mount(), one.mount(), two.mount(), two.mount()]);
    expect(new Set(mounts.map(({ directory }) => directory)).size).toBe(1);
    expect(skillIn(mounts[0].directory, 'mine')).toEqual(wholeSkill);
    expect(listed(skillsAt(one.home, 'fetched'))).toEqual([skill.id]);
    expect(listed(skillsAt(one.home, 'staging'))).toEqual([]);
    const before = fixture.objects.calls.get;
    await fixture.processAt(one.home).mount();
    expect(fixture.objects.calls.get).toBe(before);
  });

  test('an install that the store fails leaves nothing here, and no manifest', async () => {
    const installing = fixture.machine();
    fixture.objects.failure = () => 'before';
    const staging = await installing.files.openStaging(USER);
    await staging.write(['SKILL.md'], chunks('x'), { isProgram: false });
    await expect(staging.publish(newId())).rejects.toMatchObject({ code: 'unavailable' });
    await staging.close();
    expect([listed(skillsAt(installing.home, 'staging')), fixture.objects.objects.size]).toEqual([[], 0]);
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
    const installing = fixture.machine();
    await fixture.install(installing.files, 'first');
    const { clock, move } = movable();
    const one = fixture.machine({ clock });
    await one.mount();
    await fixture.install(installing.files, 'second');
    fixture.objects.failure = () => 'before';
    const { directory } = await one.mount();
    expect(skillIn(directory, 'first')).toEqual(wholeSkill);
    expect(listed(join(directory, 'custom/second'))).toEqual(['UNAVAILABLE.md']);
    expect(noteOf(directory, 'second')).toMatch(/^This skill cannot be used now\. .*object store at present/);
    const calls = fixture.objects.calls.get;
    expect((await one.mount()).directory).toBe(directory);
    expect(fixture.objects.calls.get).toBe(calls);
    fixture.objects.failure = () => undefined;
    move(5_000);
    const later = (await one.mount()).directory;
    for (const name of ['first', 'second']) expect(skillIn(later, name)).toEqual(wholeSkill);
    expect(listed(skillsAt(one.home, 'staging'))).toEqual([]);
  });

  test('is missing alone when this machine’s disk has no place for it', async () => {
    await fixture.install(fixture.machine().files, 'mine');
    const full = fixture.machine({ minFreeBytes: Number.MAX_SAFE_INTEGER });
    expect(noteOf((await full.mount()).directory, 'mine')).toMatch(/disk of this machine is full/);
    const odd = fixture.machine();
    mkdirSync(skillsAt(odd.home), { recursive: true });
    writeFileSync(skillsAt(odd.home, 'fetched'), 'no directory');
    expect(listed(join((await odd.mount()).directory, 'custom/mine'))).toEqual(['UNAVAILABLE.md']);
  });

  test.each(['trees/', 'packs/', 'blobs/'])('altered or missing objects in %s are noticed', async (prefix) => {
    await fixture.install(fixture.machine().files, 'mine');
    const [key = ''] = fixture.keysOf(prefix);
    const bytes = Buffer.from(fixture.objects.objects.get(key) ?? '');
    const altered = Buffer.from(bytes);
    altered[altered.byteLength - 1] = (altered.at(-1) ?? 0) ^ 1;
    for (const damage of [altered, undefined]) {
      if (damage === undefined) fixture.objects.objects.delete(key);
      else fixture.objects.objects.set(key, damage);
      const one = fixture.machine();
      expect(noteOf((await one.mount()).directory, 'mine')).toMatch(/missing or damaged.*operator/);
      expect([listed(skillsAt(one.home, 'fetched')), listed(skillsAt(one.home, 'staging'))]).toEqual([[], []]);
    }
    fixture.objects.objects.set(key, bytes);
    expect(skillIn((await fixture.machine().mount()).directory, 'mine')).toEqual(wholeSkill);
  });

  test('a tree with a path that leaves the skill, or of another size, is refused', async () => {
    const skill = await fixture.install(fixture.machine().files, 'mine');
    const trees = objectTreeStore(fixture.objects, SMALL_OBJECTS);
    const tree = await trees.read(USER, { work: skill.manifest ?? '' }, 'work');
    const node = tree.get('SKILL.md');
    if (node === undefined) throw new Error('the tree has no SKILL.md');
    for (const path of ['../evil', '/evil', 'a/../../evil', 'more']) {
      const manifest = (await trees.write(USER, new Map([...tree, [path, node]]))) ?? '';
      const bytes = path === 'more' ? skill.bytes : skill.bytes + CONTENT['SKILL.md'].length;
      fixture.records.set('mine', { ...skill, manifest, bytes });
      const one = fixture.machine();
      expect(noteOf((await one.mount()).directory, 'mine')).toMatch(/damaged/);
      expect(listed(skillsAt(one.home, 'fetched'))).toEqual([]);
    }
  });

  test('is not waited for beyond the limit, and is there when the fetch has ended', async () => {
    await fixture.install(fixture.machine().files, 'mine');
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const trees = objectTreeStore(fixture.objects, SMALL_OBJECTS);
    const slow: TreeStore = { ...trees, read: async (...args) => gate.then(() => trees.read(...args)) };
    const { clock, move } = movable();
    const one = fixture.machine({ trees: slow, maxWaitMs: 1, clock });
    for (const passedMs of [1, 1_000]) {
      expect(noteOf((await one.mount()).directory, 'mine')).toMatch(/being copied/);
      move(passedMs);
    }
    release();
    const isFetched = () =>
      listed(skillsAt(one.home, 'staging')).length + 1 === listed(skillsAt(one.home, 'fetched')).length;
    await waitFor(isFetched, { what: 'the end of the fetch' });
    expect(skillIn((await one.mount()).directory, 'mine')).toEqual(wholeSkill);
  });
});
