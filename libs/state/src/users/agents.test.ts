import { type CustomAgent, MAX_AGENTS, MAX_SOUL_CHARS, newId, NO_MODEL_SETTINGS } from '@caribou/contracts';
import type { AgentStore, AgentWrite } from '@caribou/core';
import { type StoreFixture, useStore } from '@caribou/testing';
import { redisAgents } from './agents.js';

let store: StoreFixture;
let agents: AgentStore;
let user: string;

useStore((opened) => {
  store = opened;
  agents = redisAgents(store.redis);
  user = `u${newId()}`;
});

const poet = (changes: Partial<CustomAgent> = {}): CustomAgent => ({
  name: 'poet',
  description: 'Says "it" in rhyme: ü',
  model: 'm1',
  tool_groups: [],
  skills: null,
  ...NO_MODEL_SETTINGS,
  soul: 'You rhyme.\n</soul>\u2028',
  ...changes,
});
const write = (agent: CustomAgent, more: Partial<AgentWrite> = {}) =>
  agents.write(user, { agent, madeIn: null, expected: 0, ...more });
async function written(agent: CustomAgent, more: Partial<AgentWrite> = {}) {
  const result = await write(agent, more);
  if (result.outcome !== 'written') throw new Error(`not written: ${result.outcome}`);
  return result.agent;
}

describe(redisAgents, () => {
  test('an agent is returned as it was written, in lists without its soul, and only to its owner', async () => {
    const made = await written(poet(), { madeIn: 't1' });

    expect(made).toMatchObject({ ...poet(), made_in: 't1', version: expect.any(Number) });
    expect(made.created_at).toBe(made.updated_at);
    expect(await agents.read(user, 'poet')).toEqual(made);
    await written(poet({ name: 'cook', tool_groups: null, skills: ['deep-research'] }));
    expect(await agents.list(user)).toEqual([
      expect.objectContaining({ name: 'cook', tool_groups: null, skills: ['deep-research'], soul: '' }),
      { ...made, soul: '' },
    ]);
    expect([await agents.read('bob', 'poet'), await agents.list('bob')]).toEqual([null, []]);
    expect(await agents.read(user, 'nobody')).toBeNull();
  });

  test('of several concurrent creations of one name one succeeds, and its agent is stored', async () => {
    const souls = ['a', 'b', 'c', 'd'];
    const outcomes = await Promise.all(souls.map((soul) => write(poet({ soul }))));

    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(['changed', 'changed', 'changed', 'written']);
    const winner = souls[outcomes.findIndex(({ outcome }) => outcome === 'written')];
    expect((await agents.read(user, 'poet'))?.soul).toBe(winner);
  });

  test('a write replaces the version it saw and no other, and no version is reused', async () => {
    const first = await written(poet(), { madeIn: 't1' });
    const second = await written(poet({ soul: 'B' }), { expected: first.version, madeIn: 't1' });

    expect(second.version).toBeGreaterThan(first.version);
    expect(second).toMatchObject({ soul: 'B', created_at: first.created_at, made_in: 't1' });
    expect(await write(poet({ soul: 'C' }), { expected: first.version })).toEqual({ outcome: 'changed' });
    expect(await write(poet({ soul: 'C' }))).toEqual({ outcome: 'changed' });
    expect(await agents.read(user, 'poet')).toEqual(second);
    await agents.remove(user, 'poet');
    expect(await write(poet({ soul: 'C' }), { expected: second.version })).toEqual({ outcome: 'changed' });
    expect((await written(poet())).version).toBeGreaterThan(second.version);
  });

  test('a call writes once, whatever was written since', async () => {
    const call = 'run-1:call_1';
    const made = await written(poet({ soul: 'A' }), { call });
    expect(await write(poet({ soul: 'A' }), { call })).toEqual({ outcome: 'repeated', agent: made });
    const edited = await written(poet({ soul: 'B' }), { expected: made.version });
    const other = await written(poet({ soul: 'C' }), { expected: edited.version, call: 'run-2:call_1' });

    expect(await write(poet({ soul: 'A' }), { call })).toEqual({ outcome: 'repeated', agent: other });
    expect(await agents.read(user, 'poet')).toEqual(other);
  });

  test('only the last calls are recorded, as many as can matter', async () => {
    let { version } = await written(poet(), { call: 'c0' });
    for (let at = 1; at <= 64; at += 1) ({ version } = await written(poet(), { expected: version, call: `c${at}` }));

    expect((await write(poet(), { expected: version, call: 'c1' })).outcome).toBe('repeated');
    expect((await write(poet(), { expected: version, call: 'c0' })).outcome).toBe('written');
  });

  test('the call that created an agent does not create it again after its removal', async () => {
    await written(poet({ name: 'cook' }), { call: 'c0' });
    await agents.remove(user, 'cook');
    await written(poet(), { call: 'c1' });
    expect([await agents.remove('bob', 'poet'), await agents.remove(user, 'poet')]).toEqual([false, true]);
    expect([await agents.remove(user, 'poet'), await agents.read(user, 'poet')]).toEqual([false, null]);

    const { souls } = store.redis.keys.agents(user);
    expect(await store.redis.use((client) => client.hkeys(souls))).toEqual(['c:poet']);
    expect(await write(poet(), { call: 'c1' })).toEqual({ outcome: 'removed' });
    expect(await agents.list(user)).toEqual([]);
    expect((await write(poet(), { call: 'c2' })).outcome).toBe('written');
  });

  test('a user cannot exceed the limit of agents, and existing ones can still be changed', async () => {
    for (let at = 1; at < MAX_AGENTS; at += 1) await written(poet({ name: `a${at}` }));
    const last = await written(poet());
    expect(await write(poet({ name: 'one-more' }))).toEqual({ outcome: 'full' });

    expect((await write(poet({ soul: 'B' }), { expected: last.version })).outcome).toBe('written');
    await agents.remove(user, 'a1');
    expect((await write(poet({ name: 'one-more' }))).outcome).toBe('written');
  });

  test('an agent that violates the contract, or a name that reaches another key, is refused', async () => {
    await expect(write(poet({ soul: 'x'.repeat(MAX_SOUL_CHARS + 1) }))).rejects.toThrow(
      'soul: must have at most 32000',
    );
    await expect(write(poet({ name: 'lead-agent' }))).rejects.toThrow('name: is reserved');
    await expect(write(poet({ name: 'a:b' }))).rejects.toThrow('name: must be');
    await expect(agents.list('a:b')).rejects.toThrow('an id must be');
    expect(await agents.list(user)).toEqual([]);
  });

  test('a key of a foreign type does not change', async () => {
    const { agents: key } = store.redis.keys.agents(user);
    await store.redis.use((client) => client.set(key, 'text'));
    await expect(write(poet())).rejects.toThrow('foreign type');
    await expect(agents.remove(user, 'poet')).rejects.toThrow('foreign type');
    expect(await store.redis.use((client) => client.exists(store.redis.keys.agents(user).souls))).toBe(0);
  });

  test('a profile is replaced as a whole, and an empty one is stored as none', async () => {
    expect(await agents.profile(user)).toBe('');
    await agents.writeProfile(user, 'Sails.\n');
    expect([await agents.profile(user), await agents.profile('bob')]).toEqual(['Sails.\n', '']);
    await agents.writeProfile(user, '');
    expect(await store.redis.use((client) => client.exists(store.redis.keys.profile(user)))).toBe(0);
  });
});
