import type { RunEvent } from '@caribou/contracts';
import { type StoreFixture, thread } from '@caribou/testing';
import { useOpenStores } from '../testing/open-stores.js';

const open = useOpenStores();
const custom = (data: number): RunEvent => ({ kind: 'custom', data });
const delta = (content: string): RunEvent => ({
  kind: 'message.delta',
  node: 'model_request',
  step: 1,
  message_id: 'm1',
  content,
});

async function openLog(compact = true) {
  const store = open({ compact });
  const key = thread();
  const run = await store.admit(key);
  const claimed = await store.claim(key);
  const read = (after = 0, limit = 100) => store.events.read(key.userId, run.run_id, { after, limit });
  return { store, key, run, claimed, read, log: store.redis.keys.runEvents(key.userId, run.run_id) };
}

const lapse = (store: StoreFixture, key: Parameters<StoreFixture['claim']>[0]): Promise<number> =>
  store.redis.use((client) => client.del(store.redis.keys.thread(key).lease));

const pieces = ['a', 'b', 'c'].map(delta);

describe('a log of joined events', () => {
  test.each([
    { compact: false, entries: 3 },
    { compact: true, entries: 1 },
  ])('is read as the events that were written, from any of them on: $entries entries', async ({ compact, entries }) => {
    const { store, claimed, read, log } = await openLog(compact);
    const appended = await store.runs.append(claimed.lease, [custom(1), ...pieces, custom(2)]);
    const expected = [custom(1), ...pieces, custom(2)].map((event, index) => ({ seq: index + 1, event }));

    expect(appended).toEqual(expected);
    expect(await store.redis.use((client) => client.xlen(log))).toBe(entries);
    for (const after of [0, 1, 2, 3, 4, 5])
      expect(await read(after)).toMatchObject({ events: expected.slice(after), lastSeq: 5 });
    expect((await read()).firstKept).toBe(1);
    expect((await read(0, 2)).events).toEqual(expected.slice(0, compact ? 5 : 4));
  });

  test('a repeated append takes effect once, whatever the number of its entries', async () => {
    const { store, claimed, read } = await openLog();
    const first = await store.runs.append(claimed.lease, pieces, { after: 0 });
    expect(await store.runs.append(claimed.lease, pieces, { after: 0 })).toEqual(first);
    await store.runs.append(claimed.lease, [custom(1)], { after: 3 });
    await expect(store.runs.append(claimed.lease, pieces, { after: 0 })).rejects.toThrow('not owned');
    expect((await read()).events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
  });
});

describe('the events of a commit and its checkpoint', () => {
  test.each([
    { compact: true, more: [], entries: 1 },
    { compact: true, more: [custom(2)], entries: 3 },
    { compact: false, more: [], entries: 3 },
  ])('share an entry with the end where nothing is between them: $entries entries', async (given) => {
    const { store, claimed, read, log } = await openLog(given.compact);
    const { head } = claimed;
    const commit = { head, state: head.state, next: [], source: 'loop', step: 1, events: [custom(1)] } as const;
    const { appended } = await store.finish(claimed, { commit, events: given.more });

    const { events, lastSeq } = await read();
    expect(events.map(({ event }) => event.kind)).toEqual([
      'custom',
      'checkpoint',
      ...given.more.map(() => 'custom'),
      'end',
    ]);
    expect(events).toEqual(appended);
    expect(lastSeq).toBe(events.length);
    expect(await store.redis.use((client) => client.xlen(log))).toBe(given.entries);
  });

  test('share an entry, which a trimmed log begins with', async () => {
    const store = open({ maxLogBytes: 600 });
    const key = thread();
    const run = await store.admit(key);
    const claimed = await store.claim(key);
    let { head } = claimed;
    for (const data of [1, 2, 3, 4]) {
      ({ head } = await store.step({ ...claimed, head }, {}, { events: [custom(data), ...pieces] }));
    }

    const { events, firstKept, lastSeq } = await store.events.read(key.userId, run.run_id, { after: 0, limit: 100 });
    const log = store.redis.keys.runEvents(key.userId, run.run_id);
    const length = await store.redis.use((client) => client.xlen(log));
    expect(length).toBeLessThan(4);
    expect(events).toHaveLength(5 * length);
    expect(events.slice(-5).map(({ event }) => event)).toEqual([
      custom(4),
      ...pieces,
      expect.objectContaining({ kind: 'checkpoint', checkpoint_id: head.checkpointId }),
    ]);
    expect([firstKept, lastSeq]).toEqual([events[0]?.seq, 20]);
    const { logBytes } = await store.finish(claimed);
    const entries = await store.redis.use((client) => client.xrange(log, '-', '+'));
    expect(logBytes).toBe(entries.reduce((sum, [, [, text = '']]) => sum + Buffer.byteLength(text), 0));
  });
});

describe('numbers of events that were published and never stored', () => {
  test('are left out by the next claim, so that no other event gets them', async () => {
    const { store, key, claimed, read } = await openLog();
    await store.runs.append(claimed.lease, [custom(1), custom(2)], { openMessageId: 'm1' });
    await lapse(store, key);
    const second = await store.claim(key);
    expect(second.run.last_seq).toBe(1_002);
    expect(await read()).toMatchObject({ lastSeq: 1_002, events: [{ seq: 1 }, { seq: 2 }] });

    await store.runs.append(second.lease, [custom(3), custom(4)], { after: 1_002 });

    const rest = [
      { seq: 1_003, event: custom(3), follows: 2 },
      { seq: 1_004, event: custom(4) },
    ];
    expect((await read(2)).events).toEqual(rest);
    expect((await read(700)).events).toEqual(rest);
    expect((await read(1_003)).events).toEqual(rest.slice(1));
  });

  test('a run that has no event yet leaves none out', async () => {
    const { store, key, read } = await openLog();
    await lapse(store, key);
    const second = await store.claim(key);
    await store.runs.append(second.lease, [custom(1)]);
    expect((await read()).events).toEqual([{ seq: 1, event: custom(1) }]);
  });

  test.each([
    { how: 'an end that lacks them', rollback: false },
    { how: 'a rollback', rollback: true },
  ])('are left out by $how', async ({ rollback }) => {
    const { store, claimed, read } = await openLog();
    await store.runs.append(claimed.lease, [custom(1)]);

    const { appended } = await store.runs.finish(claimed.lease, {
      status: 'error',
      rollback,
      shown: { last: 4, incomplete: !rollback },
      events: rollback ? pieces : [custom(9)],
    });

    expect(appended[0]?.seq).toBe(5);
    expect((await read(1)).events[0]).toEqual({ ...appended[0], follows: 1 });
  });

  test('an end that has them gives them their numbers', async () => {
    const { store, claimed } = await openLog();
    await store.runs.append(claimed.lease, [custom(1)]);
    const shown = { last: 4, incomplete: false };
    const { appended } = await store.runs.finish(claimed.lease, { status: 'success', shown, events: pieces });
    expect(appended.map(({ seq }) => seq)).toEqual([2, 3, 4, 5]);
  });
});
