import { type InstalledSkill, newId } from '@caribou/contracts';
import type { SkillStore } from '@caribou/core';
import { type StoreFixture, useStore } from '@caribou/testing';
import { redisSkills } from './skills.js';

const LIMITS = { maxInstalled: 3, maxBytes: 1_000 };

let store: StoreFixture;
let skills: SkillStore;
let user: string;

useStore((opened) => {
  store = opened;
  skills = redisSkills(store.redis);
  user = `u${newId()}`;
});

const skill = (name: string, bytes = 100): InstalledSkill => ({
  id: newId(),
  name,
  description: `Does "${name}": ünïcode.`,
  license: null,
  allowed_tools: ['bash'],
  bytes,
  installed_at: '2026-03-14T10:00:00.000Z',
});
const add = (name: string, bytes?: number) => skills.add(user, skill(name, bytes), LIMITS);
const names = async (): Promise<readonly string[]> =>
  (await skills.read(user)).installed.map(({ name }) => name).sort();

describe(redisSkills, () => {
  test('a user without changes has none, and a record is returned unchanged', async () => {
    expect(await skills.read(user)).toEqual({ states: new Map(), installed: [] });
    const added = skill('a-1');
    expect(await skills.add(user, added, LIMITS)).toBe('added');
    expect(await skills.read(user)).toEqual({ states: new Map(), installed: [added] });
  });

  test('of several concurrent additions one gets the name, and the first one remains', async () => {
    const outcomes = await Promise.all([add('a'), add('a'), add('a')]);
    expect(outcomes.sort()).toEqual(['added', 'taken', 'taken']);
    expect(await names()).toEqual(['a']);
  });

  test('neither skills nor bytes exceed the limits, and a removal frees both', async () => {
    expect([await add('a', 600), await add('b', 401), await add('b', 400), await add('c', 1)]).toEqual([
      'added',
      'full',
      'added',
      'full',
    ]);
    expect((await skills.remove(user, 'a'))?.name).toBe('a');
    expect([await add('c', 600), await add('d', 0), await add('e', 0)]).toEqual(['added', 'added', 'full']);
    for (const name of ['b', 'c', 'd']) await skills.remove(user, name);
    expect(await add('whole', 1_000)).toBe('added');
  });

  test('switches are stored by name, and removed when a skill is removed or installed again', async () => {
    await skills.switchTo(user, 'shared', false);
    await add('a');
    await skills.switchTo(user, 'a', false);
    expect((await skills.read(user)).states).toEqual(new Map(Object.entries({ shared: false, a: false })));
    await skills.remove(user, 'a');
    expect((await skills.read(user)).states).toEqual(new Map([['shared', false]]));
    await skills.switchTo(user, 'a', false);
    await add('a');
    await skills.switchTo(user, 'shared', true);
    expect((await skills.read(user)).states).toEqual(new Map([['shared', true]]));
  });

  test('removing twice finds nothing, and other users are not affected', async () => {
    await add('a');
    expect(await skills.remove(`${user}x`, 'a')).toBeNull();
    expect(await skills.read(`${user}x`)).toEqual({ states: new Map(), installed: [] });
    expect((await skills.remove(user, 'a'))?.name).toBe('a');
    expect(await skills.remove(user, 'a')).toBeNull();
  });

  test('the manifest of a skill is recorded once, for the skill that was meant', async () => {
    const added = { ...skill('a'), allowed_tools: [] };
    await skills.add(user, added, LIMITS);
    expect(await skills.manifestsOf(user)).toEqual([]);
    expect(await skills.setManifest(user, { name: 'a', id: newId() }, 'trees/u/1')).toBe(false);
    expect(await skills.setManifest(user, { name: 'b', id: added.id }, 'trees/u/1')).toBe(false);
    const outcomes = await Promise.all(['trees/u/1', 'trees/u/2'].map((key) => skills.setManifest(user, added, key)));
    expect(outcomes.filter((isRecorded) => isRecorded)).toHaveLength(1);
    const [manifest = ''] = await skills.manifestsOf(user);
    expect((await skills.read(user)).installed).toEqual([{ ...added, manifest }]);
    expect(await skills.remove(user, 'a')).toEqual({ ...added, manifest });
    expect(await skills.setManifest(user, added, 'trees/u/3')).toBe(false);
    expect(await skills.manifestsOf(user)).toEqual([]);
    await skills.add(user, { ...skill('c'), manifest: 'trees/u/4' }, LIMITS);
    expect(await skills.manifestsOf(user)).toEqual(['trees/u/4']);
  });
});
