import { setImmediate as nextTurnOfLoop } from 'node:timers/promises';
import { FencedError, type NumberedEvent, type RunEvent, TooLargeError, UnavailableError } from '@caribou/contracts';
import { systemClock } from '@caribou/core';
import { type RunLease, type RunStore } from '@caribou/state';
import { waitFor } from '@caribou/testing';
import { EventWriter, type WriteRetry } from './event-writer.js';
import { retryWrites } from '../retry-writes.js';

const lease: RunLease = { userId: 'u', threadId: 't', runId: 'r', ownerId: 'o', epoch: 1 };
const custom = (data: number): RunEvent => ({ kind: 'custom', data });
const delta = (content: string, messageId = 'm1'): RunEvent => ({
  kind: 'message.delta',
  node: 'model_request',
  step: 1,
  message_id: messageId,
  content,
});

type Options = Parameters<RunStore['append']>[2];

/** A log whose appends finish when the test says so. */
class HeldLog {
  readonly appended: NumberedEvent[] = [];
  readonly calls: { events: readonly RunEvent[]; options: Options }[] = [];
  private waiting: (() => void)[] = [];
  failure: Error | undefined;

  constructor(private holding = true) {}

  async append(_lease: RunLease, events: readonly RunEvent[], options?: Options): Promise<readonly NumberedEvent[]> {
    this.calls.push({ events, options });
    if (this.holding) await new Promise<void>((resolve) => this.waiting.push(resolve));
    if (this.failure !== undefined) throw this.failure;
    return this.number(events);
  }

  number(events: readonly RunEvent[]): readonly NumberedEvent[] {
    const numbered = events.map((event, index) => ({ seq: this.appended.length + index + 1, event }));
    this.appended.push(...numbered);
    return numbered;
  }

  hold(): void {
    this.holding = true;
  }

  release(): void {
    this.holding = false;
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}

interface Settings {
  readonly retry?: WriteRetry;
  readonly windowMs?: number;
}

const open: EventWriter[] = [];
afterEach(() => {
  for (const writer of open.splice(0)) writer.close();
});

function writerOn(log: HeldLog, { retry = (write) => write(), windowMs = 0 }: Settings = {}) {
  const published: NumberedEvent[] = [];
  const failures: unknown[] = [];
  /** The number up to which the log had events, of each publication. */
  const logged: number[] = [];
  const clock = { nowMs: 0, monotonicMs: () => clock.nowMs };
  const publisher = {
    publishEvents: (_run: string, events: readonly NumberedEvent[], upTo: number) => {
      published.push(...events);
      logged.push(upTo);
    },
  };
  const writer = new EventWriter(log, lease, publisher, {
    onFailure: (error) => void failures.push(error),
    lastSeq: 0,
    retry,
    windowMs,
    clock,
  });
  open.push(writer);
  return { writer, published, logged, failures, clock };
}

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await nextTurnOfLoop();
};

describe(EventWriter, () => {
  test('is settled once all that was emitted is in the log, or cannot get there', async () => {
    const log = new HeldLog();
    const { writer } = writerOn(log);
    for (const event of [custom(1), custom(2)]) await writer.emit(event);
    const logged = writer.waitForAppends().then(() => log.appended.length);
    await settled();
    log.release();
    expect(await logged).toBe(2);

    log.failure = new FencedError('another owner');
    await writer.emit(custom(3));
    await writer.waitForAppends();
    expect(log.appended).toHaveLength(2);
  });

  test('W1 what queues up behind a slow append goes in one batch with its deltas joined', async () => {
    const log = new HeldLog();
    const { writer, published } = writerOn(log);

    await writer.emit(delta('a'));
    await settled();
    for (const event of [delta('b'), delta('c'), custom(1)]) await writer.emit(event);
    log.release();
    await settled();

    expect(log.calls.map((call) => call.events)).toEqual([[delta('a')], [delta('bc'), custom(1)]]);
    expect(published.map((entry) => entry.seq)).toEqual([1, 2, 3]);
  });

  test('W2 what comes in one turn of the event loop goes in one append', async () => {
    const log = new HeldLog(false);
    const { writer } = writerOn(log);

    for (const event of [custom(1), delta('a'), delta('b')]) await writer.emit(event);
    await settled();

    expect(log.calls.map((call) => call.events)).toEqual([[custom(1), delta('ab')]]);
  });

  test('W2 a full queue holds the caller back until the log has moved', async () => {
    const log = new HeldLog();
    const { writer } = writerOn(log);
    await writer.emit(custom(0));
    await settled();
    for (let index = 1; index < 256; index += 1) await writer.emit(custom(index));

    let resolved = false;
    const blocked = writer.emit(custom(256)).then(() => {
      resolved = true;
    });
    await settled();
    expect(resolved).toBe(false);

    log.release();
    await blocked;
    expect(resolved).toBe(true);
  });

  test('W3 nothing is published before the log has answered', async () => {
    const log = new HeldLog();
    const { writer, published } = writerOn(log);

    await writer.emit(custom(1));
    await settled();

    expect(published).toEqual([]);
  });

  test('W4 a failed append closes the writer with its failure', async () => {
    const log = new HeldLog();
    const { writer, failures } = writerOn(log);
    log.failure = new FencedError('not the owner');

    await writer.emit(custom(1));
    log.release();
    await settled();

    await expect(writer.emit(custom(2))).rejects.toThrow('not the owner');
    await expect(writer.commit(async () => ({ appended: [] }))).rejects.toThrow('not the owner');
    expect(failures).toHaveLength(1);
  });

  test('W4b the run can still be ended after a failed append, without the queue', async () => {
    const log = new HeldLog();
    const { writer, published } = writerOn(log);
    log.failure = new TooLargeError('the log is full');
    await writer.emit(custom(1));
    await writer.emit(custom(2));
    log.release();
    await settled();

    await writer.end(async (queued) => ({ appended: log.number([...queued, custom(100)]) }));

    expect(published.map((entry) => entry.event)).toEqual([custom(100)]);
  });

  test('W5 a commit takes the queue along and keeps later events behind it', async () => {
    const log = new HeldLog();
    const { writer, published } = writerOn(log);
    await writer.emit(custom(1));
    await settled();
    await writer.emit(custom(2));

    const commit = writer.commit(async (queued) => ({ appended: log.number([...queued, custom(100)]) }));
    await writer.emit(custom(3));
    log.release();
    await commit;
    await settled();

    expect(published.map((entry) => entry.event)).toEqual([custom(1), custom(2), custom(3), custom(100)]);
  });

  describe('with a window', () => {
    const texts = (events: readonly NumberedEvent[]) =>
      events.map(({ seq, event }) => `${seq} ${event.kind === 'message.delta' ? event.content : event.kind}`);

    /** A writer whose log has the first piece of a message. */
    async function openMessage(settings: Settings = {}) {
      const log = new HeldLog(false);
      const parts = writerOn(log, { windowMs: 60_000, ...settings });
      await parts.writer.emit(delta('a'));
      await settled();
      expect(texts(parts.published)).toEqual(['1 a']);
      return { log, ...parts };
    }

    test('W2 the first piece of a message is appended first, the rest is published at once and appended once', async () => {
      const { log, writer, published, logged, clock } = await openMessage();
      for (const piece of ['b', 'c']) {
        await writer.emit(delta(piece));
        await settled();
      }
      expect(texts(published)).toEqual(['1 a', '2 b', '3 c']);
      expect(log.calls).toHaveLength(1);

      clock.nowMs = 60_000;
      await writer.emit(delta('d'));
      await settled();
      expect(log.calls[1]).toEqual({ events: ['b', 'c', 'd'].map((piece) => delta(piece)), options: { after: 1 } });
      expect(texts(published)).toEqual(['1 a', '2 b', '3 c', '4 d']);
      expect(logged).toEqual([1, 1, 1, 1, 4]);
    });

    test('W2 the window ends by itself', async () => {
      const { log, writer, clock } = await openMessage({ windowMs: 20 });
      await writer.emit(delta('b'));
      await settled();
      expect(log.appended).toHaveLength(1);
      clock.nowMs = 20;
      await waitFor(() => log.appended.length === 2, { what: 'the append' });
    });

    test('W3 what is no piece of the open message waits for its append, with all that follows', async () => {
      const { log, writer, published } = await openMessage();
      await writer.emit(delta('b'));
      await settled();
      log.hold();
      for (const event of [custom(1), delta('c')]) await writer.emit(event);
      await settled();
      await writer.emit(delta('d'));
      await settled();
      expect(texts(published)).toEqual(['1 a', '2 b']);

      log.release();
      await settled();
      expect(texts(published)).toEqual(['1 a', '2 b', '3 custom', '4 c', '5 d']);
    });

    test('W3 pieces are published while earlier ones are being appended', async () => {
      const { log, writer, published, clock } = await openMessage();
      log.hold();
      clock.nowMs = 60_000;
      for (const piece of ['b', 'c']) {
        await writer.emit(delta(piece));
        await settled();
      }
      expect(texts(published)).toEqual(['1 a', '2 b', '3 c']);
      log.release();
      await writer.waitForAppends();
      expect(texts(log.appended)).toEqual(['1 a', '2 b', '3 c']);
      expect(published).toHaveLength(3);
    });

    test('a full queue does not wait for the window', async () => {
      const { log, writer } = await openMessage();
      for (let turn = 0; turn < 128; turn += 1) {
        await writer.emit(delta('x'));
        await nextTurnOfLoop();
      }
      await settled();
      expect(log.appended).toHaveLength(129);
    });

    test('the window grows with the time that appends take', async () => {
      const { log, writer, clock } = await openMessage({ windowMs: 100 });
      log.hold();
      clock.nowMs = 100;
      await writer.emit(delta('b'));
      await settled();
      clock.nowMs = 300;
      log.release();
      await settled();

      clock.nowMs = 100 + 399;
      await writer.emit(delta('c'));
      await settled();
      expect(log.calls).toHaveLength(2);
      clock.nowMs = 100 + 400;
      await writer.emit(delta('d'));
      await settled();
      expect(log.calls).toHaveLength(3);
    });

    test('W4b an end without what was published says up to which number that was', async () => {
      const { log, writer } = await openMessage();
      await writer.emit(delta('b'));
      await settled();
      await expect(writer.commit(() => Promise.reject(new TooLargeError('too large')))).rejects.toThrow('too large');

      const shown = await writer.end(async (queued, shown) => await Promise.resolve({ appended: [], queued, shown }));
      expect(shown).toMatchObject({ queued: [], shown: { last: 2, incomplete: true } });
      expect(log.calls).toHaveLength(1);
    });

    test('W5 a commit publishes nothing twice', async () => {
      const { log, writer, published } = await openMessage();
      await writer.emit(delta('b'));
      await settled();
      await writer.commit(async (queued) => ({ appended: log.number([...queued, custom(100)]) }));
      expect(texts(published)).toEqual(['1 a', '2 b', '3 custom']);
    });
  });

  test('the log is told which message is open, once, and of ids that were given up', async () => {
    const log = new HeldLog(false);
    const { writer } = writerOn(log);
    const restart: RunEvent = {
      kind: 'run.start',
      run_id: 'r',
      thread_id: 't',
      attempt: 1,
      dropped_message_ids: ['m1'],
      checkpoint_id: null,
    };

    for (const event of [delta('a'), delta('b'), restart, delta('c', 'm2')]) {
      await writer.emit(event);
      await settled();
    }

    expect(log.calls.map((call) => call.options)).toEqual([
      { after: 0, openMessageId: 'm1' },
      { after: 1 },
      { after: 2, openMessageId: null, dropped: ['m1'] },
      { after: 3, openMessageId: 'm2' },
    ]);
  });
});

describe(retryWrites, () => {
  const away = new UnavailableError('Redis is away', { details: { dependency: 'redis' } });

  /** A lease of a second whose clock moves by the pauses alone. */
  function lease1s(onPause: () => void = () => undefined) {
    let nowMs = 0;
    const clock = {
      ...systemClock,
      monotonicMs: () => nowMs,
      sleep: async (ms: number) => {
        nowMs += ms;
        onPause();
      },
    };
    // Renewals may succeed all along: the deadline of a write does not move with them.
    const keeper = { remainingMs: 1_000, lost: false };
    return { retry: retryWrites({ keeper, clock, random: () => 0.5 }), elapsedMs: () => nowMs };
  }

  test('W3b an append is repeated with the number it follows, and the run stays open', async () => {
    const log = new HeldLog(false);
    log.failure = away;
    let pauses = 0;
    const { retry } = lease1s(() => {
      pauses += 1;
      if (pauses === 3) log.failure = undefined;
    });
    const { writer, failures } = writerOn(log, { retry });

    await writer.emit(custom(1));
    await waitFor(() => log.appended.length > 0, { what: 'the append' });
    await writer.emit(custom(2));
    await settled();

    const [first, ...repeated] = log.calls.slice(0, -1);
    expect(repeated).toEqual([first, first, first]);
    expect(log.appended.map(({ event }) => event)).toEqual([custom(1), custom(2)]);
    expect(failures).toEqual([]);
  });

  test('gives up in time to hand over within the lease, and at once on any other failure', async () => {
    const { retry, elapsedMs } = lease1s();

    await expect(retry(() => Promise.reject(away))).rejects.toBe(away);
    expect(elapsedMs()).toBe(750);
    const refused = new FencedError('another owner');
    await expect(retry(() => Promise.reject(refused))).rejects.toBe(refused);
    expect(elapsedMs()).toBe(750);
  });
});
