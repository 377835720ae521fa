import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { NotFoundError, type NumberedEvent, type RunEvent, type RunRecord, type StreamMode } from '@caribou/contracts';
import type { RunEvents } from '@caribou/bus';
import { sampleRun } from '@caribou/testing';
import { parsePosition } from './projections/position.js';
import { streamRun } from './run-stream.js';
import { SlowReaders } from './slow-readers.js';
import { SseWriter } from './sse-writer.js';

type RunEventListener = Parameters<RunEvents['subscribeEvents']>[1];

const run = sampleRun({ status: 'running', attempt: 1 });

const start = (attempt = 1, dropped: readonly string[] = [], checkpoint: string | null = null): RunEvent => ({
  kind: 'run.start',
  run_id: 'r1',
  thread_id: 't1',
  attempt,
  dropped_message_ids: [...dropped],
  checkpoint_id: checkpoint,
});
const delta = (id: string, content: string): RunEvent => ({
  kind: 'message.delta',
  node: 'model_request',
  step: 1,
  message_id: id,
  content,
});
const checkpoint = (id: string): RunEvent => ({
  kind: 'checkpoint',
  checkpoint_id: id,
  parent_id: null,
  metadata: { source: 'loop', step: 1 },
  next: [],
  created_at: '2026-01-01T00:00:01.000Z',
});
const end: RunEvent = { kind: 'end', status: 'success' };
const log = (events: readonly RunEvent[], first = 1): NumberedEvent[] =>
  events.map((event, index) => ({ seq: first + index, event }));

/** The frames a client would read: `event id data`. */
interface Seen {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: unknown;
}

function framesOf(text: string): Seen[] {
  return text
    .split('\n\n')
    .filter((block) => block !== '')
    .map((block) => {
      const fields = new Map(
        block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      );
      return {
        event: fields.get('event') ?? '',
        id: fields.get('id'),
        data: JSON.parse(fields.get('data') ?? 'null') as unknown,
      };
    });
}

/** A response whose reader takes everything at once. */
class FakeResponse extends EventEmitter {
  readonly writableNeedDrain = false;
  readonly destroyed = false;
  text = '';
  ended = false;

  writeHead(): void {}

  flushHeaders(): void {}

  write(text: string): boolean {
    this.text += text;
    return true;
  }

  end(text: string): void {
    this.text += text;
    this.ended = true;
  }
}

interface Scene {
  readonly events: readonly NumberedEvent[];
  readonly modes?: readonly StreamMode[];
  readonly from?: string;
  readonly record?: RunRecord;
  readonly stored?: RunRecord | null;
  /** Batches that arrive once the log was read. */
  readonly live?: readonly { readonly events: readonly NumberedEvent[]; readonly logged: number }[];
}

async function watch({
  events,
  modes = ['values', 'messages-tuple'],
  from,
  record = run,
  stored = record,
  live = [],
}: Scene) {
  const response = new FakeResponse();
  const writer = new SseWriter(response as unknown as ServerResponse, {
    headers: {},
    beat: ': heartbeat\n\n',
    beatMs: 60_000,
    stallMs: 60_000,
    slowReaders: new SlowReaders(1_000_000),
  });
  const firstKept = events[0]?.seq ?? 0;
  const lastSeq = events.at(-1)?.seq ?? 0;
  let listener: RunEventListener | undefined;
  const deliverSoon = ([batch, ...later]: NonNullable<Scene['live']>): void => {
    if (batch === undefined) return;
    setImmediate(() => {
      listener?.onEvents(batch.events, batch.logged);
      deliverSoon(later);
    });
  };
  const ports = {
    store: {
      getRun: () => (stored === null ? Promise.reject(new NotFoundError('no run')) : Promise.resolve(stored)),
      head: () =>
        Promise.resolve({
          checkpointId: 'head',
          parentId: null,
          createdAt: '',
          metadata: { source: 'loop' as const, step: 1 },
          next: [],
          state: { messages: [] },
        }),
    },
    log: {
      read: (_user: string, _run: string, { after, limit }: { readonly after: number; readonly limit: number }) => {
        deliverSoon(live);
        return Promise.resolve({ events: events.filter(({ seq }) => seq > after).slice(0, limit), firstKept, lastSeq });
      },
    },
    bus: {
      subscribeEvents: (_run: string, subscriber: RunEventListener) => {
        listener = subscriber;
        return Promise.resolve(() => undefined);
      },
    },
    values: {
      text: (_key: unknown, id: string) =>
        Promise.resolve(id === 'gone' ? null : JSON.stringify({ messages: [], title: id })),
    },
  };
  let gaps = 0;
  await streamRun(
    { ...ports, onGap: () => (gaps += 1) },
    { run: record, modes, from: parsePosition(from), checkMs: 5 },
    writer,
  );
  return { frames: framesOf(response.text), ended: response.ended, gaps };
}

const labels = (frames: readonly Seen[]): string[] => frames.map(({ event, id }) => `${event} ${id ?? '-'}`);

describe('streamRun', () => {
  test('a whole run is metadata, what its modes show, and one end', async () => {
    const { frames, ended } = await watch({
      events: log([start(), checkpoint('c1'), delta('a', 'Hi'), checkpoint('c2'), end]),
    });

    expect(labels(frames)).toEqual(['metadata 1.1', 'values 2', 'messages 3', 'values 4', 'end 5']);
    expect(frames.at(-1)?.data).toBeNull();
    expect(ended).toBe(true);
  });

  test('a client that resumes at any frame gets exactly the frames after it', async () => {
    const events = log([
      start(),
      checkpoint('c1'),
      delta('a', 'H'),
      delta('a', 'i'),
      start(2, ['b'], 'c1'),
      checkpoint('c2'),
      end,
    ]);
    const modes: StreamMode[] = [
      'values',
      'messages-tuple',
      'messages',
      'events',
      'debug',
      'tasks',
      'checkpoints',
      'updates',
    ];
    const { frames } = await watch({ events, modes });
    for (const [index, frame] of frames.entries()) {
      if (frame.event === 'end' || frame.id === undefined) continue;
      const rest = await watch({ events, modes, from: frame.id });
      expect(rest.frames).toEqual(frames.slice(index + 1));
    }
  });

  test('deltas of a message that was given up are left out of a replay, and the new attempt names it', async () => {
    const events = log([start(), delta('lost', 'Hel'), start(2, ['lost'], 'c1'), delta('kept', 'Hello'), end]);
    const { frames } = await watch({ events });

    expect(labels(frames)).toEqual(['metadata 1.1', 'metadata 3.1', 'values 3', 'messages 4', 'end 5']);
    expect(frames[1]?.data).toEqual({ run_id: 'r1', thread_id: 't1', attempt: 2, dropped_message_ids: ['lost'] });
  });

  test('a checkpoint that a rollback took is not shown, and the stream goes on', async () => {
    const { frames } = await watch({ events: log([start(), checkpoint('gone'), checkpoint('c2'), end]) });

    expect(labels(frames)).toEqual(['metadata 1.1', 'values 3', 'end 4']);
  });

  test('a trimmed log answers a stream from the start with metadata, the newest values and the rest', async () => {
    const { frames } = await watch({ events: log([delta('a', 'x'), end], 40), from: '-1' });

    expect(labels(frames)).toEqual(['metadata 39.1', 'values 39', 'messages 40', 'end 41']);
    expect(frames[1]?.data).toEqual({ messages: [], title: 'head' });
  });

  test('a position inside the lost part is answered by a gap and no end', async () => {
    const { frames } = await watch({ events: log([delta('a', 'x'), end], 40), from: '7.2' });

    expect(frames).toEqual([
      {
        event: 'gap',
        id: undefined,
        data: {
          code: 'stream_replay_gap',
          run_id: 'r1',
          requested_event_id: '7.2',
          earliest_available_event_id: '40',
          latest_available_event_id: '41',
          recovery: 'reload_durable_state',
        },
      },
    ]);
  });

  test('a position just before the lost part ends is no gap', async () => {
    const { frames } = await watch({ events: log([delta('a', 'x'), end], 40), from: '39', modes: ['messages'] });

    expect(frames.map(({ event }) => event)).toEqual(['messages/metadata', 'messages/partial', 'end']);
  });

  test('a finished run whose events are gone still ends, with its error if it had one', async () => {
    const finished: RunRecord = {
      ...run,
      last_seq: 9,
      status: 'error',
      error: { name: 'ModelError', message: 'nope' },
    };
    const { frames } = await watch({ events: [], record: finished });

    expect(frames.map(({ event, id }) => [event, id])).toEqual([
      ['metadata', '0.1'],
      ['error', undefined],
      ['end', '9'],
    ]);
    expect(frames[1]?.data).toEqual({ error: 'ModelError', name: 'ModelError', message: 'nope' });
  });

  test('a position inside a log that has expired is answered by a gap, and the position it names by the end', async () => {
    const record: RunRecord = { ...run, status: 'success', last_seq: 9 };
    for (const from of ['3', '7.2', '8.1']) {
      const { frames, gaps } = await watch({ events: [], record, from });
      expect(frames).toMatchObject([
        { event: 'gap', data: { requested_event_id: from, latest_available_event_id: '9' } },
      ]);
      expect(gaps).toBe(1);
    }
    for (const from of ['8', '9.1', '9'])
      expect(labels((await watch({ events: [], record, from })).frames)).toEqual(['end 9']);
  });

  test('a position beyond the log, which lost its newest events, is answered by a gap', async () => {
    for (const modes of [['values'], ['messages-tuple']] as const) {
      const record: RunRecord = { ...run, last_seq: 2 };
      const { frames } = await watch({ events: log([start(), delta('a', 'x')]), record, from: '5', modes });
      expect(frames).toMatchObject([{ event: 'gap', data: { latest_available_event_id: '2' } }]);
    }
  });

  test('a client that returns with text that was not in the log yet gets what followed, also after a takeover', async () => {
    const record: RunRecord = { ...run, last_seq: 2 };
    const text = log([start(), delta('a', 'H'), delta('a', 'i'), delta('a', '!'), end]);
    const takenOver = [
      ...text.slice(0, 2),
      { seq: 1_003, event: start(2, ['a'], 'c1'), follows: 2 },
      ...log([delta('b', 'Hello'), end], 1_004),
    ];
    for (const modes of [['values'], ['messages-tuple']] as const) {
      const watched = async (events: readonly NumberedEvent[]) =>
        labels((await watch({ events, record, from: '4~2', modes })).frames);
      expect(await watched(text)).toEqual(['end 5']);
      expect((await watched(takenOver))[0]).toBe('metadata 1003.1');
      expect((await watched(takenOver)).at(-1)).toBe('end 1005');
    }
  });

  test('frames of text that is not in the log yet say so in their ids', async () => {
    const { frames } = await watch({
      events: log([start(), delta('a', 'H')]),
      live: [
        { events: log([delta('a', 'i')], 3), logged: 2 },
        { events: log([end], 4), logged: 4 },
      ],
    });
    expect(labels(frames)).toEqual(['metadata 1.1', 'messages 2', 'messages 3~2', 'end 4']);
  });

  test('a run that ended in the queue is metadata and end', async () => {
    const { frames } = await watch({ events: log([{ kind: 'end', status: 'interrupted' }]) });

    expect(labels(frames)).toEqual(['metadata 1.0', 'end 1']);
    expect(
      (await watch({ events: log([{ kind: 'end', status: 'interrupted' }]), from: '1.0' })).frames.map(
        ({ event }) => event,
      ),
    ).toEqual(['end']);
  });

  test('a run whose record and events are gone ends with an error', async () => {
    const { frames } = await watch({ events: [], stored: null });

    expect(frames.map(({ event }) => event)).toEqual(['metadata', 'error', 'end']);
  });
});
