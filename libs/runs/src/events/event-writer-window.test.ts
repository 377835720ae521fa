import { setImmediate as nextTurnOfLoop } from 'node:timers/promises';
import { type NumberedEvent, type RunEvent, TooLargeError } from '@caribou/contracts';
import { waitFor } from '@caribou/testing';
import { closeWriters, custom, delta, HeldLog, settled, writerOn, type WriterSettings } from '../testing/held-log.js';

afterEach(closeWriters);

describe('an event writer with a window', () => {
  const texts = (events: readonly NumberedEvent[]) =>
    events.map(({ seq, event }) => `${seq} ${event.kind === 'message.delta' ? event.content : event.kind}`);

  /** A writer whose log has the first piece of a message. */
  async function openMessage(settings: WriterSettings = {}) {
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

  test('W2 the start of a message is appended at once, and names it; then its text is published before it is appended', async () => {
    const log = new HeldLog();
    const { writer, published } = writerOn(log, { windowMs: 60_000 });
    const start = { kind: 'model.start', node: 'model', step: 1, message_id: 'm1', model: 'm' } as const;
    await writer.emit(start);
    await settled();
    await writer.emit(delta('a'));
    await settled();
    expect(published).toEqual([]);

    log.release();
    await settled();
    await writer.emit(delta('b'));
    await settled();
    expect(log.calls).toEqual([{ events: [start], options: { openMessageId: 'm1', after: 0 } }]);
    expect(texts(published)).toEqual(['1 model.start', '2 a', '3 b']);
  });

  /** A writer after a commit that has opened message m1. */
  async function openByCommit(settings: WriterSettings = {}) {
    const log = new HeldLog(false);
    const parts = writerOn(log, { windowMs: 60_000, ...settings });
    await parts.writer.commit(() => Promise.resolve({ appended: log.number([custom(0)]), opens: 'm1' }));
    return { log, ...parts };
  }
  const taskStart: RunEvent = { kind: 'task.start', task_id: 't1', node: 'model_request', step: 1, triggers: [] };
  const modelStart = (messageId: string): RunEvent => ({
    ...{ kind: 'model.start', node: 'model_request', step: 1, model: 'm' },
    message_id: messageId,
  });

  test('W2 a message that a commit has opened is published from its start, and appended once its window ends', async () => {
    const { log, writer, published, logged, clock } = await openByCommit();
    expect(writer.takeMessageId()).toBe('m1');

    for (const event of [taskStart, modelStart('m1'), delta('a')]) await writer.emit(event);
    await settled();
    expect(texts(published)).toEqual(['1 custom', '2 task.start', '3 model.start', '4 a']);
    expect(logged).toEqual([1, 1]);
    expect(log.calls).toEqual([]);

    clock.nowMs = 60_000;
    await writer.emit(delta('b'));
    await settled();
    const events = [taskStart, modelStart('m1'), delta('a'), delta('b')];
    expect(log.calls).toEqual([{ events, options: { after: 1 } }]);
    expect(texts(published).slice(4)).toEqual(['5 b']);
  });

  test('W2 another message of the same step has an id of its own, and is appended from its start', async () => {
    const { log, writer, published } = await openByCommit();
    const [first, second] = [writer.takeMessageId(), writer.takeMessageId()];
    expect(second).not.toBe(first);
    await writer.emit(taskStart);
    await settled();
    log.hold();

    await writer.emit(modelStart(second));
    await writer.emit(delta('a', second));
    await settled();
    expect(texts(published)).toEqual(['1 custom', '2 task.start']);
    expect(log.calls).toMatchObject([{ options: { openMessageId: second, after: 1 } }]);

    log.release();
    await settled();
    expect(texts(published).slice(2)).toEqual(['3 model.start', '4 a']);
  });

  test('W5 a commit that opens no message leaves nothing to be published before its append', async () => {
    const { log, writer, published } = await openByCommit();
    await writer.commit(() => Promise.resolve({ appended: log.number([custom(1)]) }));
    log.hold();
    await writer.emit(taskStart);
    await settled();

    expect(texts(published)).toEqual(['1 custom', '2 custom']);
    expect(log.calls).toHaveLength(1);
    log.release();
  });

  test('without a window a message that a commit has opened is published after its append', async () => {
    const { log, writer, published } = await openByCommit({ windowMs: 0 });
    log.hold();
    await writer.emit(modelStart(writer.takeMessageId()));
    await settled();
    expect(published).toHaveLength(1);

    log.release();
    await settled();
    expect(texts(published)).toEqual(['1 custom', '2 model.start']);
    expect(log.calls).toMatchObject([{ options: { after: 1 } }]);
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
