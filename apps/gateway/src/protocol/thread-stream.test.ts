import { setImmediate } from 'node:timers/promises';
import { NotFoundError, type NumberedEvent, type RunEvent, type RunRecord } from '@caribou/contracts';
import { sampleRun, waitFor } from '@caribou/testing';
import type { SequencedEvent } from './projected-event.js';
import { fromSeq, seqBefore, toSeq } from './sequence.js';
import { ThreadStream, type ThreadStreamPorts } from './thread-stream.js';
import { ThreadWatches } from './thread-watches.js';

const THREAD = { userId: 'u', threadId: 't1' };
const delta = (content: string): RunEvent => ({
  kind: 'message.delta',
  node: 'model_request',
  step: 1,
  message_id: 'm',
  content,
});
const END: RunEvent = { kind: 'end', status: 'success' };
const log = (events: readonly RunEvent[], first = 1): NumberedEvent[] =>
  events.map((event, index) => ({ seq: first + index, event }));

interface Scene {
  run: RunRecord | null;
  events: NumberedEvent[];
}

/** One run of a thread, whose log the test changes, and a client that reads it. */
function scene({ run, events }: Scene, since = seqBefore(1)) {
  const state = { run, events, gaps: 0 };
  const leaving = new AbortController();
  const seen: SequencedEvent[] = [];
  const ports: ThreadStreamPorts = {
    store: {
      getRun: () => (state.run === null ? Promise.reject(new NotFoundError('gone')) : Promise.resolve(state.run)),
      runStatus: () => Promise.resolve(state.run?.status ?? null),
      newestRuns: () => Promise.resolve([{ runId: 'r1', ordinal: 1, status: state.run?.status ?? 'success' }]),
      head: () =>
        Promise.resolve({
          checkpointId: 'head',
          parentId: null,
          createdAt: '',
          metadata: { source: 'loop', step: 1 },
          next: [],
          state: { messages: [] },
        }),
    },
    log: {
      read: (_user, _run, { after, limit }) => {
        const [oldest, newest] = [state.events[0]?.seq ?? 0, state.events.at(-1)?.seq ?? 0];
        const page = state.events.filter(({ seq }) => seq > after).slice(0, limit);
        return Promise.resolve({ events: page, firstKept: oldest, lastSeq: newest });
      },
    },
    bus: { subscribeEvents: () => Promise.resolve(() => undefined) },
    values: { text: () => Promise.resolve('{}') },
    watches: new ThreadWatches(
      {
        store: { noteFollowed: () => Promise.resolve(1) },
        bus: { subscribeThreadRuns: () => Promise.resolve(() => undefined) },
      },
      1_000,
    ),
    onGap: () => {
      state.gaps += 1;
    },
  };
  const sink = {
    signal: leaving.signal,
    wants: () => true,
    write: (event: SequencedEvent) => {
      seen.push(event);
      return Promise.resolve();
    },
    flush: () => Promise.resolve(),
    pauseWhenSlow: () => undefined,
  };
  const ended = new ThreadStream(ports, { thread: THREAD, since: [since], checkMs: 20 }, sink)
    .run()
    .catch(() => 'left');
  const kinds = (): string[] => seen.map(({ method, isSnapshot }) => (isSnapshot === true ? 'snapshot' : method));
  return { state, seen, kinds, leave: () => (leaving.abort(new Error('left')), ended) };
}

const running = sampleRun({ status: 'running', attempt: 1, user_id: 'u', last_seq: 3 });

describe(ThreadStream, () => {
  test('a trimmed log begins with the newest state in place of what is gone', async () => {
    const { seen, kinds, leave, state } = scene({ run: running, events: log([delta('c'), END], 8) });
    await waitFor(() => kinds().includes('lifecycle'), { what: 'the end' });
    await leave();
    expect(kinds()).toEqual(['snapshot', 'messages', 'messages', 'messages', 'lifecycle']);
    expect(seen.map(({ seq }) => fromSeq(seq).event)).toEqual([7, 8, 8, 8, 9]);
    expect(state.gaps).toBe(1);
  });

  test('a client that has what was trimmed gets no state', async () => {
    const since = toSeq({ ordinal: 1, event: 8, index: 0 });
    const { kinds, leave, state } = scene({ run: running, events: log([delta('c'), END], 8) }, since);
    await waitFor(() => kinds().includes('lifecycle'), { what: 'the end' });
    await leave();
    expect([kinds().includes('snapshot'), state.gaps]).toEqual([false, 0]);
  });

  test('a log that lost its newest events is read again after the newest state', async () => {
    const { kinds, leave, state } = scene({ run: running, events: log([delta('a'), delta('b'), delta('c')]) });
    await waitFor(() => kinds().length === 5, { what: 'the first events' });
    state.events = log([delta('a'), delta('x'), END]);
    await waitFor(() => kinds().includes('lifecycle'), { what: 'the end' });
    await leave();
    expect(kinds().filter((kind) => kind === 'snapshot')).toHaveLength(1);
    expect(state.gaps).toBe(1);
  });

  test('a client that has events beyond the end of the log gets the newest state first', async () => {
    const since = toSeq({ ordinal: 1, event: 5_000, index: 1 });
    const { kinds, leave } = scene({ run: running, events: log([delta('a')]) }, since);
    await waitFor(() => kinds().length > 0, { what: 'the state' });
    await leave();
    expect(kinds()[0]).toBe('snapshot');
  });

  test('a run that is deleted before it is read is passed over', async () => {
    const { kinds, leave } = scene({ run: null, events: [] });
    for (let turn = 0; turn < 20; turn += 1) await setImmediate();
    expect(await leave()).toBe('left');
    expect(kinds()).toEqual([]);
  });
});
