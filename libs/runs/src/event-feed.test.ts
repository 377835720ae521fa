import { type NumberedEvent, UnavailableError } from '@caribou/contracts';
import type { RunEventLog } from '@caribou/core';
import fc from 'fast-check';
import { EventFeed, type FeedItem } from './event-feed.js';

const numbered = (seq: number): NumberedEvent => ({ seq, event: { kind: 'custom', data: seq } });
const end: NumberedEvent['event'] = { kind: 'end', status: 'success' };
const range = (first: number, last: number): NumberedEvent[] =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => numbered(first + index));

/** A log and a bus that do what the test says, when it says. */
class Wire implements RunEventLog {
  events: NumberedEvent[] = [];
  reads = 0;
  subscribed = false;
  beforeRead: (() => void) | undefined;
  failing = false;
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

  async read(_user: string, _run: string, { after, limit }: { readonly after: number; readonly limit: number }) {
    this.reads += 1;
    if (this.failing) throw new UnavailableError('away');
    const found = this.events.filter(({ seq }) => seq > after).slice(0, limit);
    const page = { events: found, firstKept: this.events[0]?.seq ?? 0, lastSeq: this.events.at(-1)?.seq ?? 0 };
    this.beforeRead?.();
    return await Promise.resolve(page);
  }
}

async function open(
  wire: Wire,
  options: { readonly after?: number; readonly checkMs?: number; readonly quietAtOnce?: boolean } = {},
) {
  const stop = new AbortController();
  const feed = await EventFeed.open(wire, wire, {
    userId: 'u',
    runId: 'r',
    after: options.after ?? 0,
    checkMs: options.checkMs ?? 60_000,
    quietAtOnce: options.quietAtOnce ?? false,
    signal: stop.signal,
  });
  return { feed, stop };
}

const seqsOf = (item: FeedItem): number[] => (item.kind === 'events' ? item.events.map(({ seq }) => seq) : []);

async function take(feed: EventFeed, count: number): Promise<number[]> {
  const seqs: number[] = [];
  while (seqs.length < count) seqs.push(...seqsOf(await feed.next()));
  return seqs;
}

describe('EventFeed', () => {
  test('an event that arrives between the subscription and the read of the log is told once', async () => {
    const wire = new Wire();
    wire.events = range(1, 2);
    wire.beforeRead = () => {
      wire.beforeRead = undefined;
      wire.events.push(numbered(3));
      wire.hear([numbered(3)]);
    };
    const { feed } = await open(wire);

    expect(await take(feed, 3)).toEqual([1, 2, 3]);
  });

  test('live batches pass without a read of the log', async () => {
    const wire = new Wire();
    wire.events = range(1, 1);
    const { feed } = await open(wire);
    await take(feed, 1);
    const reads = wire.reads;

    wire.hear([numbered(2)]);
    wire.hear([numbered(3), numbered(4)]);

    expect(await take(feed, 3)).toEqual([2, 3, 4]);
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
    const { feed } = await open(wire);

    expect(await take(feed, 3)).toEqual([1, 2, 3]);
    expect(wire.reads).toBe(1);
  });

  test('a hole that shows while the log is read makes it be read again', async () => {
    const wire = new Wire();
    wire.beforeRead = () => {
      wire.beforeRead = undefined;
      wire.events = range(1, 3);
      wire.hear([numbered(3)]);
    };
    const { feed } = await open(wire);

    expect(await take(feed, 3)).toEqual([1, 2, 3]);
  });

  test('a lost connection that is noticed while the log is read makes it be read again', async () => {
    const wire = new Wire();
    wire.beforeRead = () => {
      wire.beforeRead = undefined;
      wire.events = range(1, 2);
      wire.gap();
    };
    const { feed } = await open(wire);

    expect(await take(feed, 2)).toEqual([1, 2]);
  });

  test('a hole in the live batches is filled from the log', async () => {
    const wire = new Wire();
    wire.events = range(1, 1);
    const { feed } = await open(wire);
    await take(feed, 1);

    wire.events = range(1, 4);
    wire.hear([numbered(4)]);

    expect(await take(feed, 3)).toEqual([2, 3, 4]);
  });

  test('a lost batch is found by the check after a silence', async () => {
    const wire = new Wire();
    const { feed } = await open(wire, { checkMs: 5 });
    wire.events = range(1, 2);

    expect(await take(feed, 2)).toEqual([1, 2]);
  });

  test('a log that lost its newest events is reported, shorter or with other events under the same numbers', async () => {
    for (const left of [range(1, 3), [...range(1, 4), ...range(5, 8).map((item) => ({ ...item, event: end }))]]) {
      const wire = new Wire();
      wire.events = range(1, 5);
      const { feed } = await open(wire);
      await take(feed, 5);

      wire.events = left;
      wire.gap();

      expect(await feed.next()).toEqual({ kind: 'rewound', firstKept: 1, lastSeq: left.length });
      feed.startOver();
      expect(await feed.next()).toEqual({ kind: 'events', events: left });
    }
  });

  test('live events under numbers that were given out before make the log be read', async () => {
    const wire = new Wire();
    wire.events = range(1, 5);
    const { feed } = await open(wire);
    await take(feed, 5);

    wire.events = range(1, 2);
    wire.hear([{ seq: 3, event: end }]);

    expect(await feed.next()).toMatchObject({ kind: 'rewound', lastSeq: 2 });
  });

  test('a log that has expired is no loss by itself', async () => {
    const wire = new Wire();
    wire.events = range(1, 5);
    const { feed } = await open(wire);
    await take(feed, 5);

    wire.events = [];
    feed.checkNow();

    expect(await feed.next()).toEqual({ kind: 'quiet' });
  });

  test('a slow reader keeps nothing and is read for from the log', async () => {
    const wire = new Wire();
    wire.events = range(1, 1);
    const { feed } = await open(wire);
    await take(feed, 1);

    feed.pause();
    wire.events = range(1, 3);
    wire.hear(range(2, 3));
    feed.resume();
    const reads = wire.reads;

    expect(await take(feed, 2)).toEqual([2, 3]);
    expect(wire.reads).toBe(reads + 1);
  });

  test('more live events than may wait are let go and read from the log', async () => {
    const wire = new Wire();
    wire.events = range(1, 1);
    const { feed } = await open(wire);
    await take(feed, 1);

    wire.events = range(1, 2_000);
    for (let seq = 2; seq <= 2_000; seq += 1) wire.hear([numbered(seq)]);

    expect(await take(feed, 1_999)).toEqual(range(2, 2_000).map(({ seq }) => seq));
  });

  test('numbers that are gone are told, not stepped over', async () => {
    const wire = new Wire();
    wire.events = range(10, 12);
    const { feed } = await open(wire, { after: 3 });

    expect(await feed.next()).toEqual({ kind: 'trimmed', firstKept: 10, lastSeq: 12 });
    feed.skipTo(10);
    expect(await take(feed, 3)).toEqual([10, 11, 12]);
  });

  test('a log that cannot be read now is read again at the next call', async () => {
    const wire = new Wire();
    wire.failing = true;
    const { feed } = await open(wire);
    await expect(feed.next()).rejects.toThrow(UnavailableError);

    wire.failing = false;
    wire.events = range(1, 1);
    expect(await take(feed, 1)).toEqual([1]);
  });

  test('silence is told after the check, and the reason of the end is thrown', async () => {
    const wire = new Wire();
    const { feed, stop } = await open(wire, { checkMs: 5 });
    expect(await feed.next()).toEqual({ kind: 'quiet' });

    stop.abort(new Error('gone'));
    await expect(feed.next()).rejects.toThrow('gone');
    feed.close();
    expect(wire.subscribed).toBe(false);
  });

  test('whatever is lost, doubled or late on the bus, every event leaves once and in order', async () => {
    const step = fc.record({
      length: fc.integer({ min: 1, max: 5 }),
      fate: fc.constantFrom('told', 'lost', 'twice', 'late'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const wire = new Wire();
        const { feed, stop } = await open(wire, { checkMs: 1 });
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
        while (seen.length < last) seen.push(...seqsOf(await feed.next()));
        stop.abort(new Error('done'));
        expect(seen).toEqual(range(1, last).map(({ seq }) => seq));
      }),
      { numRuns: 60 },
    );
  });
});
