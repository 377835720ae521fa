import { newId, type NumberedEvent } from '@caribou/contracts';
import type { OfferedRun } from '@caribou/core';
import { redisRunStore, type RunStore } from '@caribou/state';
import { dyingStore, fakeSandbox, scriptedModel, waitFor } from '@caribou/testing';
import type { AgentLoop, EarlyRun, RunExecutor, TakenOffer } from './run-executor.js';
import { agentOn, kwargs, LEASE_MS, type RunFixture, type RunKey, useRunFixture } from './testing/run-fixture.js';

let runs: RunFixture;

useRunFixture((fixture) => {
  runs = fixture;
});

/** What a gateway says of a run on a new thread. */
async function offerOf({ runId, ...thread }: RunKey): Promise<TakenOffer & { readonly run: OfferedRun }> {
  const { kwargs: asked } = await runs.threads.getRun(thread, runId);
  return { run: { runId, kwargs: asked, headId: null }, onClaimed: () => undefined };
}

/** An executor, with what it publishes. */
function publishingExecutor(store: RunStore, agent = agentOn(fakeSandbox())) {
  const published: NumberedEvent[] = [];
  const publisher = {
    publishEvents: (_run: string, events: readonly NumberedEvent[]) => void published.push(...events),
  };
  return { executor: runs.executorOn(store, agent, { publisher }), published };
}

/** An agent that notes when it begins to read, and for what; its loop refuses reads that were not begun. */
function readingAgent(steps: string[]) {
  const loop = agentOn(fakeSandbox());
  const begun: EarlyRun[] = [];
  const prefetch = (early: EarlyRun): void => {
    if (begun.includes(early)) return;
    begun.push(early);
    steps.push('reads');
  };
  const execute: AgentLoop = (input) => {
    if (begun.at(-1) !== input.early) throw new Error('what was read is of another run');
    steps.push('loop');
    return loop(input);
  };
  return { agent: Object.assign(execute, { prefetch }), begun };
}

/** Counts the commits of a store. */
function countCommits(store: RunStore): { readonly store: RunStore; readonly commits: string[] } {
  const commits: string[] = [];
  const commit: RunStore['commit'] = (lease, request) => {
    commits.push(request.source);
    return store.commit(lease, request);
  };
  return { store: { ...store, commit }, commits };
}

describe('a run that was offered with its input', () => {
  test('begins with its claim, publishes all of its events and ends as any other', async () => {
    const thread = await runs.admit();
    const sandbox = fakeSandbox();
    const { store, commits } = countCommits(runs.runStore());
    const { executor, published } = publishingExecutor(store, agentOn(sandbox));

    expect(await executor.handle(thread, await offerOf(thread))).toMatchObject({ kind: 'ack', more: false });

    await runs.expectComplete(thread, sandbox);
    expect(commits).not.toContain('input');
    expect(published.map(({ seq }) => seq)).toEqual(published.map((_event, index) => index + 1));
    expect(published.slice(0, 2).map(({ event }) => event.kind)).toEqual(['run.start', 'checkpoint']);
  });

  test('is read for before its claim is answered, with what the loop then gets', async () => {
    const thread = await runs.admit();
    const steps: string[] = [];
    const store = runs.runStore();
    const claim: RunStore['claim'] = async (...args) => {
      const claimed = await store.claim(...args);
      steps.push('claimed');
      return claimed;
    };
    const { agent, begun } = readingAgent(steps);

    await runs.executorOn({ ...store, claim }, agent).handle(thread, await offerOf(thread));

    expect(steps).toEqual(['reads', 'claimed', 'loop']);
    expect(begun).toMatchObject([{ userId: thread.userId, threadId: thread.threadId, isResumed: false }]);
  });

  test('is read for by its own context when the offer named another run', async () => {
    const [thread, other] = [await runs.admit(), await runs.admit()];
    const steps: string[] = [];
    const { agent, begun } = readingAgent(steps);

    await runs.executorOn(runs.runStore(), agent).handle(thread, await offerOf(other));

    expect(steps).toEqual(['reads', 'reads', 'loop']);
    expect(begun).toHaveLength(2);
  });

  test('begins by itself when the offer is of another run, or asks for more than an input', async () => {
    const [thread, other] = [await runs.admit(), await runs.admit()];
    const ofOther = await offerOf(other);
    const resuming = { ...ofOther, run: { ...ofOther.run, kwargs: { ...kwargs('x'), input: null, command: {} } } };
    for (const [key, offer] of [
      [thread, ofOther],
      [other, resuming],
    ] as const) {
      const { store, commits } = countCommits(runs.runStore());
      await publishingExecutor(store).executor.handle(key, offer);

      expect(commits).toContain('input');
      expect((await runs.endingOf(key)).status).toBe('success');
    }
  });

  test('streams its answer without an append; when it dies before one, the next attempt drops what was shown', async () => {
    const thread = await runs.admit();
    const store: RunStore = { ...runs.runStore(), append: () => new Promise(() => undefined) };
    const answer = { content: 'a long answer', holdBefore: { delta: 1, until: new Promise(() => undefined) } };
    const first = publishingExecutor(store, agentOn(fakeSandbox(), scriptedModel([answer])));
    void first.executor.handle(thread, await offerOf(thread));
    const piece = await waitFor(() => first.published.find(({ event }) => event.kind === 'message.delta'), {
      what: 'a piece of the answer',
    });
    if (piece?.event.kind !== 'message.delta') throw new Error('no piece was published');
    const next = publishingExecutor(runs.runStore(), agentOn(fakeSandbox(), scriptedModel([{ content: 'done' }])));
    await runs.waitUntilUnowned(thread);
    await next.executor.handle(thread);

    const restart = next.published.find(({ event }) => event.kind === 'run.start');
    expect(restart?.event).toMatchObject({ attempt: 2, dropped_message_ids: [piece.event.message_id] });
    expect(restart?.seq).toBeGreaterThan(piece.seq);
    expect(await runs.endingOf(thread)).toMatchObject({ status: 'success', ends: 1 });
  });

  test('that is cancelled while its claim is repeated ends without a step', async () => {
    const thread = await runs.admit();
    const store = runs.runStore();
    const claimId = newId();
    const cancelledMeanwhile: RunStore = {
      ...store,
      claim: async (key, _id, options) => {
        await store.claim(key, claimId, options);
        await runs.threads.requestCancel(thread, thread.runId, 'interrupt');
        return store.claim(key, claimId, options);
      },
    };
    const { executor, published } = publishingExecutor(cancelledMeanwhile);

    await executor.handle(thread, await offerOf(thread));

    expect(await runs.endingOf(thread)).toMatchObject({ status: 'interrupted', ends: 1 });
    expect(published.map(({ event }) => event.kind).slice(0, 2)).toEqual(['run.start', 'checkpoint']);
    expect((await runs.threads.head(thread))?.state.messages.map(({ content }) => content)).toEqual(['count']);
  });

  const deaths = [1, 2, 3].flatMap((call) => [
    { call, after: false },
    { call, after: true },
  ]);

  test.each(deaths)('survives a death at store call $call (after it: $after)', async (death) => {
    const thread = await runs.admit();
    const sandbox = fakeSandbox();
    const { store, died } = dyingStore(redisRunStore(runs.redis, { leaseMs: LEASE_MS }), death);
    const executor: RunExecutor = runs.executorOn(store, agentOn(sandbox));

    void executor.handle(thread, await offerOf(thread));
    await died;
    await runs.takeOver(thread, agentOn(sandbox));

    await runs.expectComplete(thread, sandbox);
  });
});
