import { ApiError } from '../../../../api/request.js';
import { MAX_PENDING, type QueuedFile, type SendFile, UploadQueue } from './upload-queue.js';

const limits = { maxFileBytes: 1_000 };
const fileOf = (name: string, size = 10): QueuedFile => ({ name, size });

/** A server that answers when the test says so. */
function server() {
  const open: { file: QueuedFile; settle: (error?: Error) => void; progress: (sent: number) => void }[] = [];
  const send: SendFile<QueuedFile> = (file, { onProgress, signal }) =>
    new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('stopped')));
      open.push({
        file,
        progress: onProgress,
        settle: (error) => (error === undefined ? resolve() : reject(error)),
      });
    });
  return { open, send };
}

function queueOf() {
  const { open, send } = server();
  const done: string[] = [];
  const pauses: number[] = [];
  const queue = new UploadQueue<QueuedFile>({
    send,
    wait: (ms) => {
      pauses.push(ms);
      return Promise.resolve();
    },
    onDone: ({ name }) => void done.push(name),
  });
  const states = (): readonly string[] => queue.list().map(({ file, state }) => `${file.name} ${state}`);
  return { queue, open, done, pauses, states };
}

/** Lets promises that are settled run on. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('UploadQueue', () => {
  test('sends two files at a time and the next one when one is over', async () => {
    const { queue, open, done, states } = queueOf();
    queue.add([fileOf('a'), fileOf('b'), fileOf('c')], limits);
    expect(states()).toEqual(['a sending', 'b sending', 'c waiting']);
    open[0]?.progress(4);
    expect(queue.list()[0]?.sent).toBe(4);
    open[0]?.settle();
    await settled();
    expect(states()).toEqual(['a done', 'b sending', 'c sending']);
    expect(done).toEqual(['a']);
  });

  test('a file above the limit is refused with the reason, and the others are sent', () => {
    const { queue, states } = queueOf();
    queue.add([fileOf('large', 1_001), fileOf('small')], limits);
    expect(states()).toEqual(['large refused', 'small sending']);
    expect(queue.list()[0]?.error).toBe('larger than 1000 B');
  });

  test('no more than a hundred files wait; the others are listed as not taken', () => {
    const { queue } = queueOf();
    queue.add(
      Array.from({ length: MAX_PENDING + 3 }, (_, index) => fileOf(`f${index}`)),
      limits,
    );
    const refused = queue.list().filter(({ state }) => state === 'refused');
    expect(refused.map(({ file }) => file.name)).toEqual(['f100', 'f101', 'f102']);
  });

  test('a failure that may pass is tried again, after the pause that the server names, three times in all', async () => {
    const { queue, open, pauses, states } = queueOf();
    queue.add([fileOf('a')], limits);
    open[0]?.settle(new ApiError(429, 'busy', 4));
    await settled();
    open[1]?.settle(new ApiError(0, 'no network'));
    await settled();
    open[2]?.settle(new ApiError(503, 'away'));
    await settled();
    expect(pauses).toEqual([4_000, 2_000]);
    expect(states()).toEqual(['a failed']);
    expect(queue.list()[0]).toMatchObject({ error: 'away', attempts: 3 });
    expect(open).toHaveLength(3);
  });

  test('a refusal is final, says why, and a person may try again', async () => {
    const { queue, open, states } = queueOf();
    queue.add([fileOf('a')], limits);
    open[0]?.settle(new ApiError(413, 'the quota is used up'));
    await settled();
    expect(queue.list()[0]).toMatchObject({ state: 'failed', error: 'the quota is used up', attempts: 1 });
    queue.retry(queue.list()[0]?.id ?? 0);
    open[1]?.settle();
    await settled();
    expect(states()).toEqual(['a done']);
  });

  test('a cancelled file is not sent on and makes room for the next', async () => {
    const { queue, open, done, states } = queueOf();
    queue.add([fileOf('a'), fileOf('b'), fileOf('c')], limits);
    queue.cancel(queue.list()[0]?.id ?? 0);
    await settled();
    expect(states()).toEqual(['a cancelled', 'b sending', 'c sending']);
    expect(open.map(({ file }) => file.name)).toEqual(['a', 'b', 'c']);
    queue.close();
    await settled();
    expect(states()).toEqual(['a cancelled', 'b cancelled', 'c cancelled']);
    expect(done).toEqual([]);
    queue.clear();
    expect(states()).toEqual([]);
  });
});
