import { type GoalState, newId, NotFoundError, type ToolMessage } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { CommitRequest, FinishRequest, ThreadHead } from '../ports/run-store.js';
import { admission, ai, human, sampleGoal, type StoreFixture, thread, useStore } from '@caribou/testing';

let store: StoreFixture;

useStore((opened) => {
  store = opened;
});

const GOAL = sampleGoal();
const OTHER = sampleGoal({ objective: 'Something else.' });

/** The goal as the thread's record shows it, and as the state has it. */
async function goalsOf(key: ThreadKey): Promise<readonly (GoalState | undefined)[]> {
  const { values } = await store.threads.getThread(key);
  return [values.goal, (await store.threads.head(key))?.state.goal];
}

/** A thread with a claimed run whose input is committed. */
async function runningThread() {
  const key = thread();
  const run = await store.admit(key);
  const claimed = await store.claim(key);
  const { head } = await store.step(
    claimed,
    { messages: [human('hello')] },
    { inputCommitted: true, next: ['model_request'] },
  );
  return { key, run, lease: claimed.lease, head };
}

const QUESTION: ToolMessage = {
  type: 'tool',
  id: 'clarification:call',
  content: 'Which one?',
  name: 'ask_clarification',
  tool_call_id: 'call',
  status: 'success',
  artifact: { human_input: { kind: 'human_input_request' } },
  additional_kwargs: {},
  response_metadata: {},
};

/** A commit with the goal. */
const request = (head: ThreadHead): CommitRequest => ({
  ...{ head, state: { ...head.state, goal: GOAL }, next: [], events: [], step: 2 },
  source: 'loop',
});

describe('changeGoal on a thread without a run in flight', () => {
  test('sets, replaces and removes the goal in the state', async () => {
    const key = thread();
    await store.turn(key, { messages: [human('hi'), ai('ho')] });

    await store.threads.changeGoal(key, GOAL);
    expect(await goalsOf(key)).toEqual([GOAL, GOAL]);
    await store.threads.changeGoal(key, OTHER);
    expect(await goalsOf(key)).toEqual([OTHER, OTHER]);
    await store.threads.changeGoal(key, null);

    expect(await goalsOf(key)).toEqual([undefined, undefined]);
    expect((await store.threads.head(key))?.state.messages).toHaveLength(2);
  });

  test('works for a thread without any checkpoint, and refuses an unknown one', async () => {
    const key = thread();
    await store.threads.createThread(key, {});

    await store.threads.changeGoal(key, GOAL);

    expect(await goalsOf(key)).toEqual([GOAL, GOAL]);
    await expect(store.threads.changeGoal(thread(), GOAL)).rejects.toThrow(NotFoundError);
    await expect(store.threads.changeGoal({ ...key, userId: 'bob' }, GOAL)).rejects.toThrow(NotFoundError);
  });

  test.each<[string, (head: ThreadHead) => Partial<FinishRequest>]>([
    ['has a question', (head) => ({ commit: { ...request(head), state: { messages: [human('hello'), QUESTION] } } })],
    ['stopped at a breakpoint', () => ({})],
  ])('leaves the head of a thread that %s, and the next run makes the change', async (_what, end) => {
    const { key, lease, head } = await runningThread();
    await store.finish({ lease }, end(head));
    const asked = (await store.threads.head(key))?.checkpointId ?? '';

    await store.threads.changeGoal(key, GOAL);

    expect((await store.threads.head(key))?.checkpointId).toBe(asked);
    expect(await goalsOf(key)).toEqual([GOAL, undefined]);
    await store.threads.admit({ ...admission(key), expectedHead: asked });
    expect((await store.claim(key)).goalChange?.goal).toEqual(GOAL);
  });

  test('remains when the conversation continues from an older checkpoint', async () => {
    const key = thread();
    const { head } = await store.turn(key, { messages: [human('one'), ai('1')] });
    await store.turn(key, { messages: [human('two'), ai('2')] });
    await store.threads.changeGoal(key, GOAL);

    await store.threads.updateState(key, { title: 'again' }, { checkpointId: head.checkpointId ?? '' });

    expect((await store.threads.head(key))?.state.messages).toHaveLength(2);
    expect(await goalsOf(key)).toEqual([GOAL, GOAL]);
  });
});

describe('changeGoal while a run is in flight', () => {
  test('the record shows the change at once; the run finds it with its next commit and makes it with one', async () => {
    const { key, lease, head } = await runningThread();

    await store.threads.changeGoal(key, GOAL);

    expect(await goalsOf(key)).toEqual([GOAL, undefined]);
    const found = await store.step({ lease, head }, { messages: [ai('a')] });
    expect(found.goalChange?.goal).toEqual(GOAL);
    const text = found.goalChange?.text ?? '';
    const made = await store.step({ lease, head: found.head }, { goal: GOAL }, { goalChange: text });
    expect(made.goalChange).toBeUndefined();
    await store.finish({ lease });
    expect(await goalsOf(key)).toEqual([GOAL, GOAL]);
  });

  test('the next owner of a run whose runner died finds the change with its claim', async () => {
    const { key, lease } = await runningThread();
    await store.threads.changeGoal(key, GOAL);
    await store.redis.use((client) => client.del(store.redis.keys.thread(key).lease));

    const next = await store.claim(key);

    expect([next.lease.runId, next.goalChange?.goal]).toEqual([lease.runId, GOAL]);
  });

  test('a commit that is repeated makes its change once', async () => {
    const { key, lease, head } = await runningThread();
    await store.threads.changeGoal(key, GOAL);
    const found = await store.step({ lease, head }, {}, { after: 1 });
    const goalChange = found.goalChange?.text ?? '';
    const write = () => store.step({ lease, head: found.head }, { goal: GOAL }, { goalChange, after: 2 });

    await write();
    await store.threads.changeGoal(key, OTHER);
    const again = await write();

    expect(again.goalChange?.goal).toEqual(OTHER);
    expect(await goalsOf(key)).toEqual([OTHER, GOAL]);
  });

  test('of several changes the newest counts, and one that came during a commit is not lost with it', async () => {
    const { key, lease, head } = await runningThread();
    await store.threads.changeGoal(key, GOAL);
    const found = await store.step({ lease, head }, {});
    await store.threads.changeGoal(key, null);

    const made = await store.step(
      { lease, head: found.head },
      { goal: GOAL },
      { goalChange: found.goalChange?.text ?? '' },
    );

    expect(made.goalChange?.goal).toBeNull();
    expect(await goalsOf(key)).toEqual([undefined, GOAL]);
  });

  test('a run does not succeed while a change waits, and nothing is written', async () => {
    const { key, lease, head } = await runningThread();
    await store.threads.changeGoal(key, GOAL);
    const before = await store.dump();

    expect(await store.finish({ lease })).toMatchObject({ steered: 'goal', appended: [] });

    expect(await store.dump()).toEqual(before);
    const found = await store.step({ lease, head }, {});
    const commit = {
      ...request(found.head),
      goalChange: found.goalChange?.text ?? '',
    };
    expect((await store.finish({ lease }, { commit })).steered).toBeUndefined();
    expect(await goalsOf(key)).toEqual([GOAL, GOAL]);
  });

  test.each(['error', 'interrupted'] as const)('a run that ends as %s leaves it to the next run', async (status) => {
    const { key, lease } = await runningThread();
    await store.threads.changeGoal(key, GOAL);

    await store.finish({ lease }, { status });

    expect(await goalsOf(key)).toEqual([GOAL, undefined]);
    await store.admit(key);
    expect((await store.claim(key)).goalChange?.goal).toEqual(GOAL);
  });

  test('the rollback of a run loses no change, whether the run has made it or not', async () => {
    for (const isMade of [true, false]) {
      const { key, run, lease, head } = await runningThread();
      await store.threads.changeGoal(key, GOAL);
      const found = await store.step({ lease, head }, {});
      const goalChange = found.goalChange?.text ?? '';
      if (isMade) await store.step({ lease, head: found.head }, { goal: GOAL }, { goalChange });
      await store.threads.requestCancel(key, run.run_id, 'rollback');

      await store.finish({ lease }, { status: 'interrupted' });

      expect(await goalsOf(key)).toEqual([GOAL, undefined]);
      await store.admit(key);
      expect((await store.claim(key)).goalChange?.goal).toEqual(GOAL);
    }
  });
});

describe('commitUnlessOvertaken', () => {
  test('writes when nothing has come', async () => {
    const { key, lease, head } = await runningThread();

    expect(await store.runs.commitUnlessOvertaken(lease, request(head))).toBeDefined();

    expect((await goalsOf(key))[1]).toEqual(GOAL);
  });

  test.each<[string, (key: ThreadKey, runId: string) => Promise<unknown>]>([
    ['a change of the goal', (key) => store.threads.changeGoal(key, null)],
    ['a message', (key) => store.threads.admit({ ...admission(key), multitaskStrategy: 'steer' })],
    ['a cancel', (key, runId) => store.threads.requestCancel(key, runId, 'interrupt')],
  ])('writes nothing after %s', async (_what, come) => {
    const { key, run, lease, head } = await runningThread();
    await come(key, run.run_id);
    const before = await store.dump();

    expect(await store.runs.commitUnlessOvertaken(lease, request(head))).toBeUndefined();

    expect(await store.dump()).toEqual(before);
  });
});

describe('copies and deletion', () => {
  test('a copy has the goal, also one that no run has made, and pursues it on its own', async () => {
    const { key, lease } = await runningThread();
    await store.threads.changeGoal(key, GOAL);
    await store.finish({ lease }, { status: 'error' });
    const copy = { ...key, threadId: newId() };

    await store.threads.copyThread(key, copy.threadId);
    await store.threads.changeGoal(key, null);

    expect((await goalsOf(copy))[0]).toEqual(GOAL);
    expect((await goalsOf(key))[0]).toBeUndefined();
  });

  test('a copy of an older turn has the goal of that time', async () => {
    const key = thread();
    await store.turn(key, { messages: [human('one'), ai('1')] });
    await store.threads.changeGoal(key, GOAL);
    const { head } = await store.turn(key, { messages: [human('two'), ai('2')] });
    await store.threads.changeGoal(key, OTHER);
    const copy = { ...key, threadId: newId() };

    await store.threads.copyThread(key, copy.threadId, { at: { checkpointId: head.checkpointId ?? '', lastSeq: 4 } });

    expect(await goalsOf(copy)).toEqual([GOAL, GOAL]);
  });

  test('nothing of the goal is left of a deleted thread', async () => {
    const key = thread();
    await store.turn(key, { messages: [human('one'), ai('1')] });
    await store.threads.changeGoal(key, sampleGoal({ objective: 'find-me' }));

    await store.threads.deleteThread(key);

    expect(JSON.stringify(await store.dump())).not.toContain('find-me');
    await expect(store.threads.changeGoal(key, GOAL)).rejects.toThrow(NotFoundError);
  });
});
