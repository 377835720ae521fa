import {
  NotFoundError,
  type NumberedEvent,
  type RunRecord,
  type RunStatus,
  UnavailableError,
} from '@caribou/contracts';
import { taskRecord, waitFor } from '@caribou/testing';
import fc from 'fast-check';
import { type Followed, type FollowPorts, RunFollower } from './run-follower.js';

const numbered = (seq: number): NumberedEvent => ({ seq, event: { kind: 'custom', data: seq } });
const end: NumberedEvent['event'] = { kind: 'end', status: 'success' };
const range = (first: number, last: number): NumberedEvent[] =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => numbered(first + index));

const RECORD = taskRecord();
const record = (status: RunStatus): RunRecord => ({ ...RECORD, status });

/** A log, a bus and a run's record that do what the test says, when it says. */
class Wire {
  events: NumberedEvent[] = [];
  status: RunStatus | 'gone' | 'unavailable' = 'running';
  reads = 0;
  recordReads = 0;
  subscribed = false;
  beforeRead: (() => void) | undefined;
  failing = false;
  beforeFailure: (() => void) | undefined;
  hear: (events: readonly NumberedEvent[]) => void = () => undefined;
  gap: () => void = () => undefined;

  subscribeEvents = async (
    _runId: string,
    listener: { onEvents(events: readonly NumberedEvent[]): void; onGap(): void },
  ) => {
    this.subscribed = true;
    this.hear = (events) => listener.onEvents(events);
    this.gap = () => listener.onGap();
    return await Promise.resolve(() => (this.subscribed = false));
  };

  async getRun(): Promise<RunRecord> {
    this.recordReads += 1;
    if (this.status === 'unavailable') throw new UnavailableError('away');
    if (this.status === 'gone') throw new NotFoundError('no run');
    return await Promise.resolve(record(this.status));
  }

  async read(_user: string, _run: string, { after, limit }: { readonly after: number; readonly limit: number }) {
    this.reads += 1;
    if (this.failing) {
      this.beforeFailure?.();
      throw new UnavailableError('away');
    }
    const found = this.events.filter(({ seq }) => seq > after).slice(0, limit);
    const page = { events: found, firstKept: this.events[0]?.seq ?? 0, lastSeq: this.events.at(-1)?.seq ?? 0 };
    this.beforeRead?.();
    return await Promise.resolve(page);
  }
}

async function open(
  wire: Wire,
  options: { readonly after?: number; readonly checkMs?: number; readonly mayBeOver?: boolean } = {},
) {
  const stop = new AbortController();
  const ports: FollowPorts = { store: wire, log: wire, bus: wire };
  const follower = await RunFollower.open(ports, {
    run: record(wire.status === 'success' ? 'success' : 'running'),
    after: options.after ?? 0,
    checkMs: options.checkMs ?? 60_000,
    mayBeOver: options.mayBeOver ?? false,
    signal: stop.signal,
  });
  return { follower, stop };
}

const seqsOf = (item: Followed): number[] => (item.kind === 'events' ? item.events.map(({ seq }) => seq) : []);

async function take(follower: RunFollower, count: number): Promise<number[]> {
  const seqs: number[] = [];
  while (seqs.length < count) seqs.push(...seqsOf(await follower.next()));
  return seqs;
}

describe(RunFollower, () => {
  test('an event that arrives between the subscription and the read of the log is told once', async () => {
    const wire = new Wire();
    wire.events = range(1, 2);
    wire.beforeRead = () => {
      wire.beforeRead = undefined;
      wire.events.push(numbered(3));
      wire.hear([numbered(3)]);
    };
    const { follower } = await open(wire);

    expect(await take(follower, 3)).toEqual([1, 2, 3]);
  });

  test('live batches pass without a read of the log', async () => {
    const wire = new Wire();
    wire.events = range(1, 1);
    const { follower } = await open(wire);
    await take(follower, 1);
    const reads = wire.reads;

    wire.hear([numbered(2)]);
    wire.hear([numbered(3), numbered(4)]);

    expect(await take(follower, 3)).toEqual([2, 3, 4]);
    expect(wire.reads).toBe(reads);
  });

  test('events that arrive while a read of the log finds nothing new are given out at once', async () => {
    const wire = new Wire();
    wire.beforeRead = () => {
      wire.beforeRead = undefined;
      wire.events = range(1, 3);
      wire.hear([numbered(1), numbered(2)]);
      wire.hear([numbered(3)]);
    };
    const { follower } = await open(wire);

    expect(await take(follower, 3)).toEqual([1, 2, 3]);
    expect(wire.reads).toBe(1);
  });

  test('a hole that shows while the log is read makes it be read again', async () => {
    const wire = new Wire();
    wire.beforeRead = () => {
      wire.beforeRead = undefined;
      wire.events = range(1, 3);
      wire.hear([numbered(3)]);
    };
    const { follower } = await open(wire);

    expect(await take(follower, 3)).toEqual([1, 2, 3]);
  });

  test('a lost connection that is noticed while the log is read makes it be read again', async () => {
    const wire = new Wire();
    wire.beforeRead = () => {
      wire.beforeRead = undefined;
      wire.events = range(1, 2);
      wire.gap();
    };
    const { follower } = await open(wire);

    expect(await take(follower, 2)).toEqual([1, 2]);
  });

  test('a hole in the live batches is filled from the log', async () => {
    const wire = new Wire();
    wire.events = range(1, 1);
    const { follower } = await open(wire);
    await take(follower, 1);

    wire.events = range(1, 4);
    wire.hear([numbered(4)]);

    expect(await take(follower, 3)).toEqual([2, 3, 4]);
  });

  test('a lost batch is found by the check after a silence', async () => {
    const wire = new Wire();
    const { follower } = await open(wire, { checkMs: 5 });
    wire.events = range(1, 2);

    expect(await take(follower, 2)).toEqual([1, 2]);
  });

  test('a log that lost its newest events is reported, shorter or with other events under the same numbers', async () => {
    for (const left of [range(1, 3), [...range(1, 4), ...range(5, 8).map((item) => ({ ...item, event: end }))]]) {
      const wire = new Wire();
      wire.events = range(1, 5);
      const { follower } = await open(wire);
      await take(follower, 5);

      wire.events = left;
      wire.gap();

      expect(await follower.next()).toEqual({ kind: 'rewound', firstKept: 1, lastSeq: left.length });
      follower.startOver();
      expect(await follower.next()).toEqual({ kind: 'events', events: left });
    }
  });

  test('live events under numbers that were given out before make the log be read', async () => {
    const wire = new Wire();
    wire.events = range(1, 5);
    const { follower } = await open(wire);
    await take(follower, 5);

    wire.events = range(1, 2);
    wire.hear([{ seq: 3, event: end }]);

    expect(await follower.next()).toMatchObject({ kind: 'rewound', lastSeq: 2 });
  });

  test('a log that has expired is no loss by itself: the record ends the events', async () => {
    const wire = new Wire();
    wire.events = range(1, 5);
    const { follower } = await open(wire, { checkMs: 5 });
    await take(follower, 5);

    wire.events = [];
    wire.status = 'success';

    expect(await follower.next()).toEqual({ kind: 'over', run: record('success') });
  });

  test('a slow reader keeps nothing and is read for from the log', async () => {
    const wire = new Wire();
    wire.events = range(1, 1);
    const { follower } = await open(wire);
    await take(follower, 1);

    follower.pause();
    wire.events = range(1, 3);
    wire.hear(range(2, 3));
    follower.resume();
    const reads = wire.reads;

    expect(await take(follower, 2)).toEqual([2, 3]);
    expect(wire.reads).toBe(reads + 1);
  });

  test('more live events than may wait are let go and read from the log', async () => {
    const wire = new Wire();
    wire.events = range(1, 1);
    const { follower } = await open(wire);
    await take(follower, 1);

    wire.events = range(1, 2_000);
    for (let seq = 2; seq <= 2_000; seq += 1) wire.hear([numbered(seq)]);

    expect(await take(follower, 1_999)).toEqual(range(2, 2_000).map(({ seq }) => seq));
  });

  test('numbers that are gone are told, not stepped over', async () => {
    const wire = new Wire();
    wire.events = range(10, 12);
    const { follower } = await open(wire, { after: 3 });

    expect(await follower.next()).toEqual({ kind: 'trimmed', firstKept: 10, lastSeq: 12 });
    follower.skipTo(10);
    expect(await take(follower, 3)).toEqual([10, 11, 12]);
  });

  test('a log that cannot be read now is read again until it can', async () => {
    const wire = new Wire();
    wire.failing = true;
    wire.beforeFailure = () => {
      wire.failing = wire.reads < 3;
      wire.events = range(1, 1);
    };
    const { follower } = await open(wire, { checkMs: 1 });

    expect(await take(follower, 1)).toEqual([1]);
    expect(wire.reads).toBe(4);
  });

  test('live events pass while the log cannot be read', async () => {
    const wire = new Wire();
    wire.events = range(1, 1);
    const { follower } = await open(wire, { checkMs: 1 });
    await take(follower, 1);
    wire.failing = true;
    wire.beforeFailure = () => {
      wire.beforeFailure = undefined;
      wire.hear([numbered(2)]);
    };

    expect(await take(follower, 1)).toEqual([2]);
  });

  test('the record is read after a silence, and the reason of the abort is thrown', async () => {
    const wire = new Wire();
    wire.status = 'unavailable';
    const { follower, stop } = await open(wire, { checkMs: 1 });
    const next = follower.next();
    await waitFor(() => wire.recordReads > 2, { what: 'the record to be read again' });

    stop.abort(new Error('gone'));
    await expect(next).rejects.toThrow('gone');
    await expect(follower.next()).rejects.toThrow('gone');
    follower.close();
    expect(wire.subscribed).toBe(false);
  });

  test('a run that is over is noticed without a silence, by one read of its record', async () => {
    const wire = new Wire();
    wire.status = 'success';
    const { follower } = await open(wire, { mayBeOver: true });

    expect(await follower.next()).toEqual({ kind: 'over', run: record('success') });
    expect(wire.recordReads).toBe(1);
  });

  test('an end that is written between the reads of the log and of the record is given out', async () => {
    const wire = new Wire();
    wire.beforeRead = () => {
      if (wire.reads !== 2) return;
      wire.status = 'success';
      wire.events = [{ seq: 1, event: end }];
    };
    const { follower } = await open(wire, { checkMs: 5 });

    expect(await follower.next()).toEqual({ kind: 'events', events: [{ seq: 1, event: end }] });
    expect(wire.recordReads).toBe(1);
  });

  test('a record that is gone ends the events once it was looked for twice', async () => {
    const wire = new Wire();
    wire.status = 'gone';
    const { follower } = await open(wire, { checkMs: 5 });

    expect(await follower.next()).toEqual({ kind: 'over', run: null });
    expect(wire.recordReads).toBe(2);
  });

  test('whatever is lost, doubled or late on the bus, every event leaves once and in order', async () => {
    const step = fc.record({
      length: fc.integer({ min: 1, max: 5 }),
      fate: fc.constantFrom('told', 'lost', 'twice', 'late'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const wire = new Wire();
        const { follower, stop } = await open(wire, { checkMs: 1 });
        const late: NumberedEvent[][] = [];
        const seen: number[] = [];
        let last = 0;
        for (const { length, fate } of steps) {
          const batch = range(last + 1, last + length);
          last += length;
          wire.events.push(...batch);
          if (fate === 'late') late.push(batch);
          if (fate === 'told' || fate === 'twice') wire.hear(batch);
          if (fate === 'twice') wire.hear(batch);
          if (late.length > 1) wire.hear(late.shift() ?? []);
        }
        for (const batch of late) wire.hear(batch);
        while (seen.length < last) seen.push(...seqsOf(await follower.next()));
        stop.abort(new Error('done'));
        expect(seen).toEqual(range(1, last).map(({ seq }) => seq));
      }),
      { numRuns: 60 },
    );
  });
});
