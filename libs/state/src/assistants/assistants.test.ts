import { newId } from '@caribou/contracts';
import { useStore } from '@caribou/testing';
import type { AssistantContent, AssistantStore } from '../ports/assistant-store.js';
import type { RedisConnection } from '../redis/connection.js';
import { redisAssistants } from './assistants.js';

const LIMITS = { maxAssistants: 3, maxVersions: 3, maxBytes: 4_000 };

let redis: RedisConnection;
let store: AssistantStore;
let user: string;

useStore((opened) => {
  ({ redis } = opened);
  store = redisAssistants(redis, LIMITS as never);
  user = `u${newId()}`;
});

const content = (more: Partial<AssistantContent> = {}): AssistantContent => ({
  graph_id: 'lead_agent',
  name: 'Ann "é" \u2028',
  description: null,
  config: { tags: [], configurable: {} },
  context: { list: [], none: {} },
  metadata: { deep: { a: [1] } },
  ...more,
});
async function made(id = newId(), more: Partial<AssistantContent> = {}) {
  const result = await store.create(user, id, content(more));
  if (!('assistant' in result)) throw new Error(result.outcome);
  return result.assistant;
}
const bytes = async () => Number(await redis.use((client) => client.hget(redis.keys.assistants(user).versions, '#')));

describe(redisAssistants, () => {
  test('content is returned as it was written, empty lists and objects too, and only to its owner', async () => {
    const first = await made();

    expect(first).toMatchObject({ ...content(), version: 1, revision: 1 });
    expect(await store.read(user, first.assistant_id)).toEqual(first);
    expect(await store.list(user)).toEqual([first]);
    expect([await store.read('bob', first.assistant_id), await store.list('bob')]).toEqual([null, []]);
  });

  test('of several concurrent creations of one id one writes, and the others get what it wrote', async () => {
    const id = newId();
    const outcomes = await Promise.all(['a', 'b', 'c'].map((name) => store.create(user, id, content({ name }))));

    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(['exists', 'exists', 'written']);
    const names = outcomes.map((result) => ('assistant' in result ? result.assistant.name : ''));
    expect(new Set(names)).toEqual(new Set([(await store.read(user, id))?.name]));
  });

  test('an update is a new version on the revision that it saw; the oldest beyond the limit is removed', async () => {
    const first = await made();
    const second = await store.update(user, first, content({ name: 'b' }));

    expect(second).toMatchObject({ outcome: 'written', assistant: { version: 2, revision: 2, name: 'b' } });
    expect(await store.update(user, first, content({ name: 'lost' }))).toEqual({ outcome: 'changed' });
    for (let revision = 2; revision < 5; revision += 1)
      await store.update(user, { ...first, revision }, content({ name: `v${revision + 1}` }));
    const versions = await store.versions(user, first.assistant_id);
    expect(versions.map(({ version, name }) => [version, name])).toEqual([
      [5, 'v5'],
      [4, 'v4'],
      [3, 'v3'],
    ]);
  });

  test('an earlier version becomes the current one, and the next is numbered after the newest', async () => {
    const first = await made();
    await store.update(user, first, content({ name: 'b' }));

    expect(await store.setLatest(user, first.assistant_id, 1)).toMatchObject({
      version: 1,
      revision: 3,
      name: content().name,
    });
    expect(await store.setLatest(user, first.assistant_id, 7)).toBeNull();
    expect(await store.update(user, { ...first, revision: 3 }, content({ name: 'c' }))).toMatchObject({
      assistant: { version: 3, name: 'c' },
    });
  });

  test('counts and bytes are bounded, and freed by a removal', async () => {
    const all = [await made(), await made(), await made()];
    expect(await store.create(user, newId(), content())).toEqual({ outcome: 'full' });
    const large = content({ metadata: { text: 'x'.repeat(4_000) } });
    expect(await store.update(user, all[0] ?? never(), large)).toEqual({ outcome: 'large', bytes: await bytes() });

    for (const { assistant_id } of all) expect(await store.remove(user, assistant_id)).toBe(true);
    expect(await store.remove(user, all[0]?.assistant_id ?? '')).toBe(false);
    expect([await bytes(), await store.list(user)]).toEqual([0, []]);
    expect(await made()).toMatchObject({ version: 1 });
  });
});

function never(): never {
  throw new Error('nothing was made');
}
