import {
  ConflictError,
  emptyMemory,
  InvalidRequestError,
  MAX_MEMORY_BYTES,
  type MemoryDocument,
  type MemoryFact,
  TooLargeError,
} from '@caribou/contracts';
import type { MemoryScope, MemoryStore } from '@caribou/core';
import { ai, human, type StoreFixture, thread, useStore } from '@caribou/testing';
import { redisMemoryStore } from './memory-store.js';

let stores: StoreFixture;
let memories: MemoryStore;

useStore(
  (opened) => {
    stores = opened;
    memories = redisMemoryStore(stores.redis);
  },
  { leaseMs: 60_000 },
);

const alice: MemoryScope = { userId: 'alice', agent: 'lead_agent' };
const fact = (id: string, content = `fact ${id}`): MemoryFact => ({
  id,
  content,
  category: 'knowledge',
  confidence: 0.9,
  createdAt: '2026-03-14T10:00:00.000Z',
  source: 't1',
});
const withFacts = (...facts: MemoryFact[]): MemoryDocument => ({ ...emptyMemory('2026-03-14T10:00:00.000Z'), facts });
const cause = { kind: 'fact_added' } as const;

/** Writes on the current revision. */
async function write(
  document: MemoryDocument,
  scope = alice,
  kind: Parameters<MemoryStore['write']>[1]['cause'] = cause,
) {
  const { revision } = await memories.read(scope);
  return memories.write(scope, { document, expectedRevision: revision, cause: kind });
}

describe(redisMemoryStore, () => {
  test('a memory that was never written is empty, and a written one is returned unchanged', async () => {
    expect(await memories.read(alice)).toEqual({ document: emptyMemory(), revision: 0, era: 0 });
    const document = withFacts(fact('f1'), fact('f2', 'ünïcode \u{1f980}'));
    const written = await write(document);
    expect(written.revision).toBeGreaterThan(0);
    expect(await memories.read(alice)).toEqual({ ...written, document });
  });

  test('each user and each agent has a separate memory', async () => {
    await write(withFacts(fact('f1')));
    await write(withFacts(fact('f2')), { userId: 'alice', agent: 'poet' });
    expect((await memories.read({ userId: 'bob', agent: 'lead_agent' })).document.facts).toEqual([]);
    expect((await memories.read(alice)).document.facts.map(({ id }) => id)).toEqual(['f1']);
    expect(await memories.agents('alice')).toEqual(['lead_agent', 'poet']);
    expect(await memories.agents('bob')).toEqual([]);
    await expect(memories.read({ userId: 'a:b', agent: 'x' })).rejects.toThrow(InvalidRequestError);
    await expect(memories.read({ userId: 'alice', agent: 'x:y' })).rejects.toThrow('agent');
  });

  test('of several writers with the same revision one succeeds', async () => {
    const { revision } = await write(withFacts(fact('f0')));
    const outcomes = await Promise.allSettled(
      ['f1', 'f2', 'f3'].map((id) =>
        memories.write(alice, { document: withFacts(fact(id)), expectedRevision: revision, cause }),
      ),
    );
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
    expect(refused).toHaveLength(2);
    for (const { reason } of refused) expect(reason).toBeInstanceOf(ConflictError);
  });

  test('a document out of its bounds is refused with the field, and nothing is written', async () => {
    await write(withFacts(fact('f1')));
    const before = await stores.dump();
    await expect(write(withFacts(fact('f2', 'x'.repeat(1_001))))).rejects.toThrow('memory.facts.0.content');
    await expect(write({ ...emptyMemory(), lastUpdated: 'today' })).rejects.toThrow('memory.lastUpdated');
    const many = Array.from({ length: 500 }, (_, index) => fact(`f${index}`, 'x'.repeat(900)));
    await expect(write(withFacts(...many))).rejects.toThrow(TooLargeError);
    await expect(write(withFacts(...many))).rejects.toThrow(`more than ${MAX_MEMORY_BYTES}`);
    expect(await stores.dump()).toEqual(before);
  });

  test('the history lists what each change did, newest first, and retains the last 20', async () => {
    await write(withFacts(fact('f1'), fact('f2')));
    const edited = { ...fact('f2'), content: 'other' };
    const document = withFacts(edited);
    document.user.workContext = { summary: 'builds ships', updatedAt: '2026-03-14T10:00:00.000Z' };
    const { revision } = await write(document, alice, { kind: 'extraction', threadId: 't9' });
    const [newest, first] = await memories.history(alice);
    expect(newest).toMatchObject({
      revision,
      cause: { kind: 'extraction', threadId: 't9' },
      added: [],
      removed: [fact('f1')],
      changed: [fact('f2')],
      sections: { workContext: '' },
    });
    expect(first?.added).toEqual([fact('f1'), fact('f2')]);
    expect(Date.parse(newest?.at ?? '')).toBeGreaterThan(0);
    for (let index = 0; index < 25; index += 1) await write(withFacts(fact(`n${index}`)));
    expect(await memories.history(alice)).toHaveLength(20);
  });

  test('a history of big changes stays within its bytes, but always has the last change', async () => {
    const big = (name: string): MemoryDocument =>
      withFacts(...Array.from({ length: 240 }, (_, index) => fact(`${name}${index}`, `${name}${'x'.repeat(800)}`)));
    for (const name of ['a', 'b', 'c', 'd', 'e']) await write(big(name));
    const kept = await memories.history(alice);
    expect(kept.length).toBeGreaterThanOrEqual(1);
    expect(JSON.stringify(kept).length).toBeLessThan(600_000);
    expect(kept[0]?.added).toHaveLength(240);
  });

  test('clearing and importing begin a new era, other changes stay in theirs', async () => {
    const first = await write(withFacts(fact('f1')));
    expect(first.era).toBe(first.revision);
    const second = await write(withFacts(fact('f2')));
    expect(second.era).toBe(first.era);
    const cleared = await write(emptyMemory(), alice, { kind: 'cleared' });
    expect(cleared.era).toBe(cleared.revision);
    expect((await write(withFacts(), alice, { kind: 'imported' })).era).toBeGreaterThan(cleared.era);
  });

  const damages: [string, (key: string) => Promise<unknown>][] = [
    ['no JSON', (key) => stores.redis.use((client) => client.hset(key, 'document', '{"facts":'))],
    ['no memory', (key) => stores.redis.use((client) => client.hset(key, 'document', '{"facts":[]}'))],
    ['no document', (key) => stores.redis.use((client) => client.hdel(key, 'document'))],
    ['no revision', (key) => stores.redis.use((client) => client.hdel(key, 'revision'))],
    [
      'another type',
      (key) =>
        stores.redis.use(async (client) => {
          await client.del(key);
          return client.set(key, 'x');
        }),
    ],
  ];
  test.each(damages)(
    'a record with %s is moved aside unchanged and reported, and the memory is empty',
    async (_, damage) => {
      const { record, quarantine0 } = stores.redis.keys.memory(alice);
      const before = await write(withFacts(fact('f1')));
      await damage(record);
      const damaged = (await stores.dump())[record];
      expect(await memories.read(alice)).toEqual({ document: emptyMemory(), revision: 0, era: 0 });
      expect((await stores.dump())[quarantine0]).toEqual(damaged);
      const { quarantined } = await memories.status('alice');
      expect(quarantined).toMatchObject([{ agent: 'lead_agent' }]);
      expect(quarantined[0]?.reason).not.toBe('');
      const after = await write(withFacts(fact('f2')));
      expect(after.revision).toBeGreaterThan(before.revision);
      expect(after.era).not.toBe(before.era);
    },
  );

  test('records that were quarantined earlier are retained, too', async () => {
    const { record, quarantine0, quarantine2 } = stores.redis.keys.memory(alice);
    for (const text of ['one', 'two', 'three', 'four']) {
      await write(withFacts(fact('f1')));
      await stores.redis.use((client) => client.hset(record, 'document', text));
      await memories.read(alice);
    }
    const dump = await stores.dump();
    expect(dump[quarantine0]).toMatchObject({ document: 'four' });
    expect(dump[quarantine2]).toMatchObject({ document: 'two' });
    expect((await memories.status('alice')).quarantined).toHaveLength(4);
  });

  test('a history key of a foreign type is an error, and nothing is written', async () => {
    await stores.redis.use((client) => client.set(stores.redis.keys.memory(alice).history, 'x'));
    const before = await stores.dump();
    await expect(write(withFacts(fact('f1')))).rejects.toThrow('foreign type');
    expect(await stores.dump()).toEqual(before);
  });

  test('erasing an agent removes all of its memory and nothing of other agents', async () => {
    const poet = { userId: 'alice', agent: 'poet' };
    await write(withFacts(fact('f1')));
    await write(withFacts(fact('f2')), poet);
    await memories.eraseAgent(poet);

    expect(await memories.agents('alice')).toEqual(['lead_agent']);
    expect(await memories.history(poet)).toEqual([]);
    expect(JSON.stringify(await stores.dump())).not.toContain('fact f2');
    expect((await memories.read(alice)).document.facts).toHaveLength(1);
    await memories.eraseAgent(poet);
  });

  test('erasing a user removes everything of theirs and nothing of others', async () => {
    const bob = { userId: 'bob', agent: 'lead_agent' };
    await write(withFacts(fact('f1')));
    await write(withFacts(fact('f2')), { userId: 'alice', agent: 'poet' });
    await write(withFacts(fact('f3')), bob);
    await stores.redis.use((client) => client.hset(stores.redis.keys.memory(alice).record, 'document', '?'));
    await memories.read(alice);
    for (const key of [thread('alice'), thread('alice'), thread('bob')]) {
      await stores.turn(key, { messages: [human('I live in Oslo'), ai('noted')] });
      await stores.admit(key);
      await stores.finish(await stores.claim(key), { remember: { agent: 'poet' } });
    }
    expect(await memories.status('alice')).toMatchObject({ due: 2, running: 0, dead: [] });

    await memories.eraseUser('alice');
    expect(await memories.status('alice')).toEqual({ due: 0, running: 0, dead: [], quarantined: [] });
    expect(await memories.agents('alice')).toEqual([]);
    expect(await memories.history(alice)).toEqual([]);
    expect(/fact f[12]/.test(JSON.stringify(await stores.dump()))).toBe(false);
    expect((await stores.keys()).filter((key) => key.includes('memory:alice'))).toEqual([]);
    expect((await memories.read(bob)).document.facts).toHaveLength(1);
    expect((await memories.status('bob')).due).toBe(1);
    await memories.eraseUser('alice');
    await memories.eraseUser('nobody');
  });
});
