import { FencedError, type RunEvent, TooLargeError, UnavailableError } from '@caribou/contracts';
import { systemClock } from '@caribou/core';
import { waitFor } from '@caribou/testing';
import { EventWriter } from './event-writer.js';
import { retryWrites } from '../retry-writes.js';
import { closeWriters, custom, delta, HeldLog, settled, writerOn } from '../testing/held-log.js';

afterEach(closeWriters);

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

  test('adds up the bytes of commits, and knows those of the log once it has its end', async () => {
    const { writer } = writerOn(new HeldLog());
    await writer.commit(async () => await Promise.resolve({ appended: [], stateBytes: 10 }));
    await writer.commit(async () => await Promise.resolve({ appended: [], stateBytes: 5 }));
    expect(writer.written).toEqual({ state: 15, log: undefined });

    await writer.end(async () => await Promise.resolve({ appended: [], stateBytes: 0, logBytes: 70 }));
    expect(writer.written).toEqual({ state: 15, log: 70 });
  });
});
