import { isTerminal, newId, REMOVE_ALL, type StateUpdate, type ThreadState } from '@caribou/contracts';
import { applyUpdate, type ThreadKey } from '@caribou/core';
import { ai, type ClaimedRun, human, type StoreFixture, thread, useStore } from '@caribou/testing';
import fc from 'fast-check';

let store: StoreFixture;

useStore(
  (opened) => {
    store = opened;
  },
  { leaseMs: 60_000, keptCheckpoints: 10 },
);

const messageId = fc.constantFrom('1', '2', '3', '4', '5', '6', '7', '8');
const change = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.string(), messageId).map(([text, id]) => human(text, id)) },
  { weight: 6, arbitrary: fc.string().map((text) => ai(text)) },
  { weight: 3, arbitrary: messageId.map((id) => ({ type: 'remove' as const, id })) },
  { weight: 1, arbitrary: fc.constant({ type: 'remove' as const, id: REMOVE_ALL }) },
);
const update: fc.Arbitrary<StateUpdate> = fc.record(
  {
    messages: fc.array(change, { maxLength: 4 }),
    title: fc.string(),
    artifacts: fc.array(fc.constantFrom('/a', '/b', '/c'), { maxLength: 2 }),
    todos: fc.array(
      fc.record({ content: fc.string(), status: fc.constantFrom('pending' as const, 'completed' as const) }),
      { maxLength: 2 },
    ),
  },
  { requiredKeys: [] },
);

test('what is committed and loaded equals what the reducer makes of the same updates', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(update, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 4 }),
      async (turns) => {
        const key = thread();
        let expected: ThreadState = { messages: [] };
        for (const updates of turns) {
          await store.admit(key);
          const claimed = await store.claim(key);
          expect(claimed.head.state).toEqual(expected);
          let { head } = claimed;
          for (const each of updates) {
            expected = applyUpdate(expected, each);
            head = (await store.step({ lease: claimed.lease, head }, each)).head;
          }
          await store.finish(claimed);
        }
        const { messages: _messages, ...values } = expected;
        expect((await store.threads.head(key))?.state).toEqual(expected);
        expect((await store.threads.getThread(key)).values).toEqual(values);
      },
    ),
    { numRuns: 40 },
  );
});

type Operation =
  | { readonly kind: 'admit'; readonly strategy: 'reject' | 'interrupt' | 'rollback' | 'enqueue' }
  | { readonly kind: 'claim' | 'commit' | 'append' | 'handOver' | 'lapse' | 'update' }
  | { readonly kind: 'finish'; readonly status: 'success' | 'error' | 'interrupted' }
  | { readonly kind: 'cancel'; readonly action: 'interrupt' | 'rollback'; readonly run: number };

const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('admit' as const),
      strategy: fc.constantFrom(
        'reject' as const,
        'interrupt' as const,
        'rollback' as const,
        'enqueue' as const,
        'enqueue' as const,
      ),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'claim' as const,
        'claim' as const,
        'commit' as const,
        'append' as const,
        'handOver' as const,
        'lapse' as const,
        'update' as const,
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('finish' as const),
      status: fc.constantFrom('success' as const, 'error' as const, 'interrupted' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('cancel' as const),
      action: fc.constantFrom('interrupt' as const, 'rollback' as const),
      run: fc.nat(),
    }),
  },
);

/** Drives one thread; refusals are part of it, only the invariants matter. */
class Driver {
  readonly key = thread();
  readonly admitted: string[] = [];
  private claimed: ClaimedRun | undefined;

  async apply(step: Operation): Promise<void> {
    switch (step.kind) {
      case 'admit': {
        const run = await store.admit(this.key, { multitaskStrategy: step.strategy });
        this.admitted.push(run.run_id);
        return;
      }
      case 'claim': {
        const claimed = await store.runs.claim(this.key, newId());
        if (claimed.kind === 'run') this.claimed = claimed;
        return;
      }
      case 'lapse':
        await store.redis.use((client) => client.del(store.redis.keys.thread(this.key).lease));
        return;
      case 'update':
        await store.threads.updateState(this.key, { title: newId() });
        return;
      case 'cancel': {
        const run = this.admitted[step.run % Math.max(this.admitted.length, 1)];
        if (run !== undefined) await store.threads.requestCancel(this.key, run, step.action);
        return;
      }
      default:
        if (this.claimed !== undefined) await this.own(step, this.claimed);
    }
  }

  private async own(step: Operation, claimed: ClaimedRun): Promise<void> {
    if (step.kind === 'append')
      await store.runs.append(claimed.lease, [{ kind: 'custom', data: 1 }], { openMessageId: newId() });
    if (step.kind === 'handOver') await store.runs.handOver(claimed.lease);
    if (step.kind === 'finish') await store.finish(claimed, { status: step.status });
    if (step.kind === 'commit')
      this.claimed = { ...claimed, head: (await store.step(claimed, { messages: [ai('x')] })).head };
  }
}

async function expectInvariants(key: ThreadKey, admitted: readonly string[]): Promise<void> {
  const keys = store.redis.keys.thread(key);
  const [record, inbox, lease, order, inFlight] = await store.redis.use((client) =>
    Promise.all([
      client.hgetall(keys.record),
      client.lrange(keys.inbox, 0, -1),
      client.get(keys.lease),
      client.zrange(keys.order, 0, -1),
      client.smembers(keys.inFlight),
    ]),
  );
  const current = record['current'] ?? '';
  const working = [...(current === '' ? [] : [current]), ...inbox];
  expect(await store.isPending(key)).toBe(working.length > 0);
  expect(record['status'] === 'busy').toBe(working.length > 0);
  expect(inFlight.filter((id) => admitted.includes(id)).sort()).toEqual([...working].sort());
  if (lease !== null) expect(current).not.toBe('');
  expect(order.at(-1) ?? '').toBe(record['head'] ?? '');
  for (const runId of admitted)
    await expectRun(key, runId, { isWorking: working.includes(runId), isCurrent: runId === current });
}

async function expectRun(
  key: ThreadKey,
  runId: string,
  { isWorking, isCurrent }: { isWorking: boolean; isCurrent: boolean },
): Promise<void> {
  const log = await store.events.read(key.userId, runId, { after: 0, limit: 1000 });
  const ends = log.events.filter((entry) => entry.event.kind === 'end');
  const run = (await store.threads.listRuns(key, { limit: 1000, offset: 0 })).find((each) => each.run_id === runId);
  // A claim skips numbers, which the next event says.
  const before = log.events.map(({ seq, follows }) => follows ?? seq - 1);
  expect(before).toEqual([0, ...log.events.map(({ seq }) => seq)].slice(0, log.events.length));
  expect(ends).toHaveLength(isWorking ? 0 : 1);
  if (!isWorking) expect(log.events.at(-1)?.event.kind).toBe('end');
  if (isWorking) expect(run?.status).toBe(isCurrent ? 'running' : 'pending');
  else expect(run === undefined || isTerminal(run.status)).toBe(true);
}

test('whatever happens to a thread: no run is lost, one is current, work is pending, every log ends once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 5, maxLength: 40 }), async (operations) => {
      const driver = new Driver();
      for (const step of operations) {
        await driver.apply(step).catch((error: unknown) => expect(error).toMatchObject({ expected: true }));
        if (driver.admitted.length > 0) await expectInvariants(driver.key, driver.admitted);
      }
      for (let left = driver.admitted.length; left > 0; left -= 1) {
        await driver.apply({ kind: 'lapse' });
        await driver.apply({ kind: 'claim' });
        await driver
          .apply({ kind: 'finish', status: 'success' })
          .catch((error: unknown) => expect(error).toMatchObject({ code: 'fenced' }));
      }
      expect(await store.isPending(driver.key)).toBe(false);
    }),
    { numRuns: 40 },
  );
}, 60_000);
