import type { RunEvent } from '@caribou/contracts';
import { silentLogger, systemClock } from '@caribou/core';
import { createMetrics, noopTracing } from '@caribou/observability';
import { redisRunStore } from '@caribou/state';
import { admission, type StoreFixture, thread, useStore, waitFor } from '@caribou/testing';
import { RunExecutor } from './run-executor.js';
import { RunRegistry } from './run-registry.js';

const LEASE_MS = 200;

let store: StoreFixture;

useStore((opened) => {
  store = opened;
});

/** An executor whose agent may not be asked. */
const executorOn = (maxAttempts: number): RunExecutor =>
  new RunExecutor({
    store: redisRunStore(store.redis, { leaseMs: LEASE_MS, maxAttempts }),
    registry: new RunRegistry(),
    clock: systemClock,
    clocks: { leaseMs: LEASE_MS, renewMs: 60, eventWindowMs: 100 },
    logger: silentLogger,
    metrics: createMetrics({ service: 'test' }),
    tracing: noopTracing,
    publisher: { publishEvents: () => undefined },
    agent: () => Promise.reject(new Error('the agent was asked')),
  });

describe('a run that another process ends without running it, after its owner died in an answer', () => {
  test.each([
    { how: 'cancelled', maxAttempts: 5, ending: ['end'] },
    { how: 'exhausted', maxAttempts: 1, ending: ['error', 'end'] },
  ])('names the streamed message that does not continue: $how', async ({ how, maxAttempts, ending }) => {
    const key = thread();
    const { run_id: runId } = await store.admit(key, { kwargs: admission(key).kwargs });
    const dead = redisRunStore(store.redis, { leaseMs: LEASE_MS, maxAttempts });
    const claimed = await dead.claim(key, 'owner');
    if (claimed.kind !== 'run') throw new Error(`claimed ${claimed.kind}`);
    const delta: RunEvent = { kind: 'message.delta', node: 'model', step: 1, message_id: 'm1', content: 'Half' };
    await dead.append(claimed.lease, [delta], { openMessageId: 'm1', after: claimed.run.last_seq });
    if (how === 'cancelled') await store.threads.requestCancel(key, runId, 'interrupt');

    const handled = await waitFor(
      async () => {
        const handling = await executorOn(maxAttempts).handle(key, { onClaimed: () => undefined });
        return handling.kind === 'busy' ? undefined : handling;
      },
      { what: 'the lease to lapse' },
    );

    const { events } = await store.events.read(key.userId, runId, { after: 0, limit: 100 });
    expect(handled).toMatchObject({ kind: 'ack', more: false });
    expect(events.map(({ event }) => event.kind)).toEqual(['message.delta', 'run.start', ...ending]);
    expect(events[1]?.event).toMatchObject({ attempt: 2, dropped_message_ids: ['m1'] });
  });
});
