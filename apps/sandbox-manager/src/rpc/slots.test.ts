import { RateLimitedError } from '@caribou/contracts';
import { PathLocks } from './path-locks.js';
import { Slots } from './slots.js';

/** A work that goes on until it is told to end. */
function work(): { readonly run: () => Promise<void>; readonly end: () => void; readonly began: () => boolean } {
  let began = false;
  let end: () => void = () => undefined;
  const over = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { run: () => ((began = true), over), end, began: () => began };
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe(Slots, () => {
  test('runs so many at once, lets so many wait, and refuses the others', async () => {
    const slots = new Slots({ running: 1, waiting: 1 });
    const [first, second] = [work(), work()];
    const running = [slots.run(first.run), slots.run(second.run)];

    await expect(slots.run(() => Promise.resolve())).rejects.toThrow(RateLimitedError);
    await turn();
    expect([first.began(), second.began()]).toEqual([true, false]);

    first.end();
    await turn();
    expect(second.began()).toBe(true);
    second.end();
    await Promise.all(running);
    await expect(slots.run(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    expect(await slots.run(() => Promise.resolve(7))).toBe(7);
  });
});

describe(PathLocks, () => {
  test('holds changes of one file apart however its path is spelled, and no others', async () => {
    const locks = new PathLocks();
    const thread = { userId: 'u', threadId: 't' };
    const [first, second, other, foreign] = [work(), work(), work(), work()];
    const all = [
      locks.hold(thread, '/mnt/user-data/workspace/a', first.run),
      locks.hold(thread, '/mnt/user-data/./workspace//a', second.run),
      locks.hold(thread, '/mnt/user-data/workspace/b', other.run),
      locks.hold({ ...thread, threadId: 't2' }, '/mnt/user-data/workspace/a', foreign.run),
    ];
    await turn();
    expect([first, second, other, foreign].map(({ began }) => began())).toEqual([true, false, true, true]);

    first.end();
    await turn();
    expect(second.began()).toBe(true);
    for (const { end } of [second, other, foreign]) end();
    await Promise.all(all);
  });

  test('a change that fails lets the next one go on', async () => {
    const locks = new PathLocks();
    const thread = { userId: 'u', threadId: 't' };
    const failing = locks.hold(thread, '/x', () => Promise.reject(new Error('failed')));
    const next = locks.hold(thread, '/x', () => Promise.resolve('done'));

    await expect(failing).rejects.toThrow('failed');
    expect(await next).toBe('done');
  });
});
