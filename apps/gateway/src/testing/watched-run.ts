import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { NotFoundError, type NumberedEvent, type RunEvent, type RunRecord, type StreamMode } from '@caribou/contracts';
import type { RunEvents } from '@caribou/bus';
import { sampleRun } from '@caribou/testing';
import { parsePosition } from '../runs/streams/projections/position.js';
import { streamRun } from '../runs/streams/run-stream.js';
import { SlowReaders } from '../runs/streams/slow-readers.js';
import { SseWriter } from '../runs/streams/sse-writer.js';

type RunEventListener = Parameters<RunEvents['subscribeEvents']>[1];

export const run = sampleRun({ status: 'running', attempt: 1 });

export const start = (attempt = 1, dropped: readonly string[] = [], checkpoint: string | null = null): RunEvent => ({
  kind: 'run.start',
  run_id: 'r1',
  thread_id: 't1',
  attempt,
  dropped_message_ids: [...dropped],
  checkpoint_id: checkpoint,
});
export const delta = (id: string, content: string): RunEvent => ({
  kind: 'message.delta',
  node: 'model_request',
  step: 1,
  message_id: id,
  content,
});
export const checkpoint = (id: string): RunEvent => ({
  kind: 'checkpoint',
  checkpoint_id: id,
  parent_id: null,
  metadata: { source: 'loop', step: 1 },
  next: [],
  created_at: '2026-01-01T00:00:01.000Z',
});
export const end: RunEvent = { kind: 'end', status: 'success' };
/** The events as they are in the log of a run. */
export const log = (events: readonly RunEvent[], first = 1): NumberedEvent[] =>
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

/** Streams a run to a client and returns what it gets. */
export async function watch({
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

/** Event and id of each frame. */
export const labels = (frames: readonly Seen[]): string[] => frames.map(({ event, id }) => `${event} ${id ?? '-'}`);
