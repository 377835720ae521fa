import {
  BEFORE_FIRST_CHECKPOINT,
  newId,
  NotFoundError,
  type RunRecord,
  type StateUpdate,
  textOf,
} from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { AdmitRequest } from '../ports/admission.js';
import type { FeedRow } from '../ports/thread-store.js';
import { ai, human, openStores, type StoreFixture, thread, useStore, waitFor } from '@caribou/testing';
import fc from 'fast-check';

let store: StoreFixture;

useStore(
  (opened) => {
    store = opened;
  },
  { keptCheckpoints: 3 },
);
// One test replaces the stores.
afterEach(() => store.close());

const wordsOf = (rows: readonly FeedRow[]): string[] => rows.map(({ message }) => textOf(message.content));
const wordsIn = async (key: ThreadKey): Promise<string[]> =>
  wordsOf((await store.threads.readFeed(key, { limit: 100 })).rows);

/** Every row, read in pages without a gap or an overlap. */
async function paged(key: ThreadKey, limit: number): Promise<FeedRow[]> {
  const all: FeedRow[] = [];
  for (let before: number | undefined; ; ) {
    const page = await store.threads.readFeed(key, { limit, ...(before === undefined ? {} : { before }) });
    expect(page.rows.length).toBeLessThanOrEqual(limit);
    all.unshift(...page.rows);
    if (page.nextBefore === null) return all;
    expect(page.nextBefore).toBeLessThan(before ?? Infinity);
    before = page.nextBefore;
  }
}

/** What the page sends to regenerate the turn of a run. */
const again = (run: RunRecord): Partial<AdmitRequest> => ({
  checkpointId: run.fork_checkpoint_id ?? run.base_checkpoint_id ?? BEFORE_FIRST_CHECKPOINT,
  metadata: { regenerate_from_run_id: run.run_id },
});

/** A turn with a user message and an answer; with `from` it regenerates the turn of that run. */
async function turn(key: ThreadKey, [asked, answered]: readonly [string, string], from?: RunRecord) {
  const { run_id } = await store.admit(key, from === undefined ? {} : again(from));
  const claimed = await store.claim(key);
  const fork = claimed.run.fork_checkpoint_id;
  const forkedFrom = fork === null ? {} : { forkedFrom: await store.runs.loadCheckpoint(key, fork) };
  const person = from === undefined ? human(asked) : human(asked, `asked ${asked}`);
  const { head } = await store.step(claimed, { messages: [person] }, forkedFrom);
  await store.step({ lease: claimed.lease, head }, { messages: [ai(answered)] });
  return {
    claimed,
    end: async (rollback = false) => {
      await store.finish(claimed, { status: rollback ? 'interrupted' : 'success', rollback });
      return rollback ? undefined : await store.threads.getRun(key, run_id);
    },
  };
}

async function ended(key: ThreadKey, words: readonly [string, string], from?: RunRecord): Promise<RunRecord> {
  const run = await (await turn(key, words, from)).end();
  if (run === undefined) throw new Error('the run is gone');
  return run;
}

describe('feed', () => {
  test('lists each message once, with its run and its time, by numbers from 1', async () => {
    const key = thread();
    const first = await ended(key, ['a', 'b']);
    await ended(key, ['c', 'd']);

    const { rows, nextBefore } = await store.threads.readFeed(key, { limit: 10 });

    expect(rows.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
    expect(wordsOf(rows)).toEqual(['a', 'b', 'c', 'd']);
    expect(nextBefore).toBeNull();
    expect(rows[0]).toMatchObject({ runId: first.run_id, createdAt: expect.stringMatching(/^\d{4}-.*Z$/) as string });
    expect(wordsOf((await store.threads.readFeed(key, { limit: 10, runId: first.run_id })).rows)).toEqual(['a', 'b']);
  });

  test('leaves out messages that users do not see', async () => {
    const key = thread();
    const hidden = { ...human('hidden'), additional_kwargs: { hide_from_ui: true } };
    const system = { ...human('system'), type: 'system' as const };
    const messages = [human('a'), hidden, { ...human('note'), name: 'loop_warning' }, system, ai(''), ai('b')];
    await store.turn(key, { messages });

    expect(await wordsIn(key)).toEqual(['a', 'b']);
  });

  test('retains messages that were removed from the state, however often the log is swept, under the same numbers', async () => {
    await store.close();
    store = openStores(store.url, { keptCheckpoints: 3, eventsTtlMs: 1 });
    const key = thread();
    const [old, answer] = [human('old'), ai('draft')];
    const note = (name: string) => ({ ...human(name, name), name: 'note' });
    /** A run of these steps whose event log is removed afterwards, so that its checkpoints may be pruned. */
    const run = async (updates: readonly StateUpdate[]): Promise<void> => {
      const { run_id } = await store.admit(key);
      const { lease, head } = await store.claim(key);
      let at = head;
      for (const update of updates) at = (await store.step({ lease, head: at }, update)).head;
      await store.finish({ lease });
      const log = store.redis.keys.runEvents(key.userId, run_id);
      await waitFor(async () => (await store.redis.use((client) => client.exists(log))) === 0, {
        what: 'the log to go',
      });
    };
    await run([
      { messages: [old, answer] },
      { messages: [{ type: 'remove', id: old.id }, ai('final', answer.id)] },
      { messages: [{ type: 'remove', id: answer.id }, note('first')] },
    ]);
    for (let round = 0; round < 4; round += 1) {
      const names = Array.from({ length: 200 }, (_, at) => `note ${round} ${at}`);
      await run(
        names.map((name, at) => ({ messages: [{ type: 'remove', id: names[at - 1] ?? 'first' }, note(name)] })),
      );
    }

    expect(await store.redis.use((client) => client.hlen(store.redis.keys.thread(key).log))).toBeLessThan(700);
    const { rows } = await store.threads.readFeed(key, { limit: 10 });
    expect(rows.map(({ seq, message }) => [seq, message.content])).toEqual([
      [1, 'old'],
      [2, 'final'],
    ]);
    expect((await store.threads.head(key))?.state.messages).toHaveLength(1 + 3);
  });

  test('a message replaced by a run that is rolled back has its old text again', async () => {
    const key = thread();
    const answer = ai('kept');
    await store.turn(key, { messages: [human('a'), answer] });
    await store.admit(key);
    const claimed = await store.claim(key);
    const { head } = await store.step(claimed, { messages: [ai('changed', answer.id)] });
    await store.step({ lease: claimed.lease, head }, { messages: [ai('changed more', answer.id), ai('new')] });
    expect(await wordsIn(key)).toEqual(['a', 'changed more', 'new']);

    await store.finish(claimed, { status: 'interrupted', rollback: true });

    expect(await wordsIn(key)).toEqual(['a', 'kept']);
  });

  test('a regenerated turn replaces the old one and the turns after it', async () => {
    const key = thread();
    await ended(key, ['a', 'b']);
    const second = await ended(key, ['c', 'd']);
    await ended(key, ['e', 'f']);

    const third = await ended(key, ['c', 'new d'], second);
    expect(await wordsIn(key)).toEqual(['a', 'b', 'c', 'new d']);
    await ended(key, ['c', 'newest d'], third);

    expect(await wordsIn(key)).toEqual(['a', 'b', 'c', 'newest d']);
    expect((await store.threads.head(key))?.state.messages.map(({ content }) => content)).toEqual(await wordsIn(key));
  });

  test('the first turn can be regenerated as well', async () => {
    const key = thread();
    const first = await ended(key, ['a', 'b']);
    await store.threads.updateState(key, { title: 'renamed' });

    await ended(key, ['a', 'new b'], first);

    const head = await store.threads.head(key);
    expect(await wordsIn(key)).toEqual(['a', 'new b']);
    expect(head).toMatchObject({ state: { messages: [{ content: 'a' }, { content: 'new b' }] } });
    expect(head?.state).not.toHaveProperty('title');
  });

  test('a regenerated turn that is rolled back leaves no trace', async () => {
    const key = thread();
    await ended(key, ['a', 'b']);
    const second = await ended(key, ['c', 'd']);
    const before = await store.threads.readFeed(key, { limit: 10 });
    const running = await turn(key, ['c', 'other'], second);
    expect(await wordsIn(key)).toEqual(['a', 'b', 'c', 'other']);

    await running.end(true);

    expect(await store.threads.readFeed(key, { limit: 10 })).toEqual(before);
    await ended(key, ['c', 'last d'], second);
    expect((await paged(key, 1)).map(({ message }) => message.content)).toEqual(['a', 'b', 'c', 'last d']);
  });

  test('a run from an older checkpoint hides nothing unless it regenerates the turn that began there', async () => {
    const key = thread();
    const first = await ended(key, ['a', 'b']);
    const second = await ended(key, ['c', 'd']);
    const fork = { ...second, fork_checkpoint_id: second.base_checkpoint_id, run_id: newId() };
    await ended(key, ['e', 'f'], fork);
    expect(await wordsIn(key)).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);

    await ended(key, ['g', 'h'], { ...fork, run_id: first.run_id });

    expect(await wordsIn(key)).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']);
  });

  test('a lone surrogate in an id or in metadata, which the store cannot read as JSON, harms nothing', async () => {
    const key = thread();
    await store.admit(key, { metadata: { note: '\ud800', regenerate_from_run_id: '\ud800' } });
    const claimed = await store.claim(key);
    const odd = human('odd', 'id \ud800');
    await store.step(claimed, { messages: [odd] });
    await store.finish(claimed);

    expect(await wordsIn(key)).toEqual(['odd']);
    expect(await store.threads.findFeedRow(key, odd.id)).toMatchObject({ seq: 1, message: { content: 'odd' } });
  });

  test('the row of a message is found by its id as long as users see it', async () => {
    const key = thread();
    const first = await ended(key, ['a', 'b']);
    const [, answer] = (await store.threads.readFeed(key, { limit: 2 })).rows;
    const id = answer?.message.id ?? '';

    expect(await store.threads.findFeedRow(key, id)).toEqual(answer);
    await ended(key, ['a', 'new b'], first);

    expect(await store.threads.findFeedRow(key, id)).toBeNull();
    expect(await store.threads.findFeedRow(key, 'none')).toBeNull();
  });

  test('a missing or deleted thread, or one of another user, has none', async () => {
    const key = thread();
    await ended(key, ['a', 'b']);
    const others = { ...key, userId: 'bob' };
    await expect(store.threads.readFeed(others, { limit: 1 })).rejects.toThrow(NotFoundError);
    await expect(store.threads.findFeedRow(others, 'x')).rejects.toThrow(NotFoundError);

    await store.threads.deleteThread(key);

    await expect(store.threads.readFeed(key, { limit: 1 })).rejects.toThrow(NotFoundError);
    expect((await store.keys()).filter((name) => name.includes(key.threadId))).toEqual([]);
  });

  test('pages fit together whatever was written, rolled back or regenerated', async () => {
    const action = fc.record({ kind: fc.constantFrom('turn', 'again', 'rollback', 'both'), pick: fc.nat({ max: 9 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 8 }), fc.integer({ min: 1, max: 4 }), async (actions, limit) => {
        const key = thread();
        await store.threads.createThread(key, {});
        let shown: { readonly run: RunRecord; readonly words: readonly [string, string] }[] = [];
        for (const [at, { kind, pick }] of actions.entries()) {
          const target = kind === 'again' || kind === 'both' ? shown[pick % Math.max(shown.length, 1)] : undefined;
          const words = [target?.words[0] ?? `asked ${at}`, `answer ${at}`] as const;
          const running = await turn(key, words, target?.run);
          const run = await running.end(kind === 'rollback' || kind === 'both');
          if (run === undefined) continue;
          if (target !== undefined) shown = shown.slice(0, shown.indexOf(target));
          shown.push({ run, words });
        }

        const rows = await paged(key, limit);

        expect(wordsOf(rows)).toEqual(shown.flatMap(({ words }) => words));
        const numbers = rows.map(({ seq }) => seq);
        expect(numbers).toEqual([...new Set(numbers)].sort((one, other) => one - other));
        expect(numbers.every((seq) => Number.isInteger(seq) && seq >= 1)).toBe(true);
        const head = await store.threads.head(key);
        expect(wordsOf(rows)).toEqual((head?.state.messages ?? []).map(({ content }) => content));
      }),
      { numRuns: 40 },
    );
  });
});
