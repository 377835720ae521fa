import type { ThreadKey } from '@caribou/core';
import { newId } from '@caribou/contracts';
import { ai, human, type StoreFixture, thread, useStore } from '@caribou/testing';
import { claimRun, NO_CALLS, stepOf, type TracedStores, tracedStores } from '../testing/traced-stores.js';

const MOST = 88;

let store: StoreFixture;
let stores: TracedStores;

useStore((opened) => {
  store = opened;
  stores = tracedStores(opened);
});

async function commandCount(): Promise<number> {
  const info = await store.redis.use((client) => client.info('commandstats'));
  const counts = [...info.matchAll(/^cmdstat_(?!info|ping|eval)[^:]*:calls=(\d+)/gm)];
  return counts.reduce((sum, [, calls]) => sum + Number(calls), 0);
}

/** A turn that is remembered and traced, and whose usage is counted: as most are. */
async function turn(key: ThreadKey): Promise<void> {
  await stores.admit(key, { runId: newId() });
  const runner = stores.runner();
  const { lease, head } = await claimRun(runner, key);
  const first = await runner.commit(lease, {
    ...{ head, state: { ...head.state, messages: [...head.state.messages, human('question')] } },
    ...{ next: ['model_request'], source: 'input', step: 0, events: [], inputCommitted: true, trace: NO_CALLS },
  });
  const usage = { turns: 1, calls: [{ model: 'm', caller: 'lead_agent', inputTokens: 9, outputTokens: 6 }] } as const;
  await runner.finish(lease, {
    ...{ status: 'success', events: [], trace: stepOf(), remember: { agent: 'lead_agent' } },
    commit: {
      ...{ head: first.head, state: { ...first.head.state, messages: [...first.head.state.messages, ai('answer')] } },
      ...{ next: [], source: 'loop', step: 1, events: [], usage },
    },
  });
}

test('the scripts of a later turn of a thread call few commands, as these are most of the work of Redis', async () => {
  const key = thread();
  await turn(key);
  await turn(key);
  const counts: number[] = [];
  for (let index = 0; index < 4; index += 1) {
    const before = await commandCount();
    await turn(key);
    counts.push((await commandCount()) - before);
  }

  // The first step in a second also updates the list of threads.
  expect(Math.min(...counts)).toBeLessThanOrEqual(MOST);
});
