import { PathLocks } from './path-locks.js';

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
