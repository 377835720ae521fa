import { randomUUID } from 'node:crypto';
import {
  ASSISTANT,
  headOf,
  heldAt,
  newGate,
  newThread,
  refusalOf,
  runToEnd,
  say,
  textsOf,
  type UseSdk,
} from './calls.js';

export function describeThreads(use: UseSdk): void {
  describe('threads', () => {
    test('an own id is taken; a second create answers as if_exists says', async () => {
      const { client } = use();
      const threadId = randomUUID();

      const made = await client.threads.create({ threadId, metadata: { first: true } });
      const same = await client.threads.create({ threadId, metadata: { first: false }, ifExists: 'do_nothing' });
      const refusal = await refusalOf(client.threads.create({ threadId, ifExists: 'raise' }));

      expect(made).toMatchObject({ thread_id: threadId, status: 'idle', metadata: { first: true } });
      expect(same).toMatchObject({ thread_id: threadId, metadata: { first: true } });
      expect(refusal).toMatchObject({ status: 409, message: expect.stringContaining('exists') });
    });

    test('a fresh thread has an empty state and no history', async () => {
      const { client } = use();
      const threadId = await newThread(use());

      expect(await client.threads.getState(threadId)).toMatchObject({
        values: {},
        next: [],
        tasks: [],
        checkpoint: null,
      });
      expect(await client.threads.getHistory(threadId)).toEqual([]);
    });

    test('search finds by metadata, pages, sorts and selects; count agrees', async () => {
      const { client } = use();
      const group = randomUUID();
      const ids: string[] = [];
      for (const part of [0, 1, 2]) ids.push((await client.threads.create({ metadata: { group, part } })).thread_id);
      const found = async (more: object): Promise<string[]> =>
        (await client.threads.search({ metadata: { group }, ...more })).map(({ thread_id }) => thread_id);

      expect(await found({ sortBy: 'created_at', sortOrder: 'asc' })).toEqual(ids);
      expect(await found({ sortBy: 'created_at', sortOrder: 'desc', limit: 2 })).toEqual([ids[2], ids[1]]);
      expect(await found({ sortBy: 'created_at', sortOrder: 'asc', limit: 2, offset: 2 })).toEqual([ids[2]]);
      expect(await client.threads.search({ metadata: { group, part: 1 }, select: ['thread_id'] })).toEqual([
        { thread_id: ids[1] },
      ]);
      expect(await client.threads.count({ metadata: { group } })).toBe(3);
    });

    test('update merges metadata per key and moves the thread to the top of the list', async () => {
      const { client } = use();
      const group = randomUUID();
      const { thread_id: older } = await client.threads.create({ metadata: { group, keep: 1 } });
      const { thread_id: newer } = await client.threads.create({ metadata: { group } });

      await client.threads.update(older, { metadata: { added: 2 } });

      expect((await client.threads.get(older)).metadata).toEqual({ group, keep: 1, added: 2 });
      const list = await client.threads.search({ metadata: { group }, sortBy: 'updated_at', sortOrder: 'desc' });
      expect(list.map(({ thread_id }) => thread_id)).toEqual([older, newer]);
    });

    test('a run leaves messages and a title; updateState renames and the messages stay', async () => {
      const { client } = use();
      const threadId = await newThread(use());
      await runToEnd(use(), threadId, '#say Named soon.');
      const before = await client.threads.getState(threadId);

      await client.threads.updateState(threadId, { values: { title: 'New name' } });

      const after = await client.threads.getState(threadId);
      expect(before.values.title).toEqual(expect.any(String));
      expect(after.values).toEqual({ ...before.values, title: 'New name' });
      expect(after.parent_checkpoint?.checkpoint_id).toBe(before.checkpoint?.checkpoint_id);
      expect((await client.threads.search({ ids: [threadId] }))[0]?.values.title).toBe('New name');
      expect((await client.threads.get(threadId)).values).toMatchObject({ title: 'New name' });
    });

    test('history is newest first, each entry the parent of the one before, and readable one by one', async () => {
      const { client } = use();
      const threadId = await newThread(use());
      await runToEnd(use(), threadId, '#say One.');
      await runToEnd(use(), threadId, '#say Two.');

      const history = await client.threads.getHistory(threadId, { limit: 100 });

      const ids = history.map(({ checkpoint }) => checkpoint?.checkpoint_id ?? '');
      expect(ids).toEqual([...ids].sort().reverse());
      expect(history.map(({ parent_checkpoint: parent }) => parent?.checkpoint_id ?? null)).toEqual([
        ...ids.slice(1),
        null,
      ]);
      expect(textsOf(history[0]?.values)).toEqual(['#say One.', 'One.', '#say Two.', 'Two.']);
      const [, second] = history;
      const place = second?.checkpoint ?? undefined;
      if (place === undefined) throw new Error('no second entry');
      expect(await client.threads.getState(threadId, place.checkpoint_id)).toEqual(second);
      expect(await client.threads.getState(threadId, place)).toEqual(second);
      const older = await client.threads.getHistory(threadId, { before: { configurable: place }, limit: 1 });
      expect(older).toEqual([history[2]]);
    });

    test('a copy has the same state and changes independently', async () => {
      const { client } = use();
      const threadId = await newThread(use());
      await runToEnd(use(), threadId, '#say Shared.');

      const { thread_id: copyId } = (await client.threads.copy(threadId)) as { thread_id: string };

      expect((await client.threads.getState(copyId)).values).toEqual((await client.threads.getState(threadId)).values);
      await runToEnd(use(), copyId, '#say Mine.');
      expect(textsOf((await client.threads.getState(copyId)).values)).toEqual([
        '#say Shared.',
        'Shared.',
        '#say Mine.',
        'Mine.',
      ]);
      expect(textsOf((await client.threads.getState(threadId)).values)).toEqual(['#say Shared.', 'Shared.']);
    });

    test('a deleted thread does not exist, also for a second delete', async () => {
      const { client } = use();
      const threadId = await newThread(use());

      await client.threads.delete(threadId);

      expect(await refusalOf(client.threads.get(threadId))).toMatchObject({ status: 404 });
      expect(await refusalOf(client.threads.delete(threadId))).toMatchObject({ status: 404 });
      expect(await client.threads.search({ ids: [threadId] })).toEqual([]);
    });

    test('while a run is in flight the state can be read, but neither written nor the thread deleted', async () => {
      const { client, stack } = use();
      const threadId = await newThread(use());
      const gate = newGate();
      const run = await client.runs.create(threadId, ASSISTANT, say(`#hold ${gate}\n#say Done.`));
      await heldAt(use(), gate);

      expect((await client.threads.get(threadId)).status).toBe('busy');
      expect(textsOf((await headOf(use(), threadId)).values)).toHaveLength(1);
      expect(await refusalOf(client.threads.updateState(threadId, { values: { title: 'x' } }))).toMatchObject({
        status: 409,
      });
      expect(await refusalOf(client.threads.delete(threadId))).toMatchObject({ status: 409 });

      stack.model.release(gate);
      await client.runs.join(threadId, run.run_id);
      expect((await client.threads.get(threadId)).status).toBe('idle');
    });
  });
}
