import { KeyedMutex } from './keyed-mutex.js';
import { Limiter } from './limiter.js';

/** Work that runs until the test ends it. */
function work(): { readonly run: () => Promise<void>; readonly end: () => void; readonly began: () => boolean } {
  let began = false;
  let end: () => void = () => undefined;
  const over = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { run: () => ((began = true), over), end, began: () => began };
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const full = new Error('full');
const errorWhenFull = (): Error => full;

describe(Limiter, () => {
  test('runs so many at once, lets so many wait, and refuses the others', async () => {
    const limiter = new Limiter({ maxRunning: 1, maxWaiting: 1, errorWhenFull });
    const [first, second] = [work(), work()];
    const running = [limiter.run(first.run), limiter.run(second.run)];

    await expect(limiter.run(() => Promise.resolve())).rejects.toBe(full);
    await turn();
    expect([first.began(), second.began()]).toEqual([true, false]);

    first.end();
    await turn();
    expect(second.began()).toBe(true);
    second.end();
    await Promise.all(running);
    await expect(limiter.run(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    expect(await limiter.run(() => Promise.resolve(7))).toBe(7);
  });

  test('runs in the order in which work came, whether work fails or not', async () => {
    const limiter = new Limiter({ maxRunning: 2, maxWaiting: 256, errorWhenFull });
    const began: number[] = [];
    const run = (at: number): Promise<number> =>
      limiter.run(async () => {
        began.push(at);
        await turn();
        if (at % 2 === 1) throw new Error(String(at));
        return at;
      });
    const results = await Promise.allSettled(Array.from({ length: 258 }, (_, at) => run(at)));

    expect(began).toEqual(Array.from({ length: 258 }, (_, at) => at));
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(129);
  });
});

describe(KeyedMutex, () => {
  test('keeps work under one key apart, also after a failure, and delays no other key', async () => {
    const mutex = new KeyedMutex();
    const [first, second, other] = [work(), work(), work()];
    const all = [mutex.run('a', first.run), mutex.run('a', second.run), mutex.run('b', other.run)];
    await turn();
    expect([first.began(), second.began(), other.began()]).toEqual([true, false, true]);

    first.end();
    await turn();
    expect(second.began()).toBe(true);
    for (const { end } of [second, other]) end();
    await Promise.all(all);

    const failing = mutex.run('a', () => Promise.reject(new Error('failed')));
    const next = mutex.run('a', () => Promise.resolve('done'));
    await expect(failing).rejects.toThrow('failed');
    expect(await next).toBe('done');
  });
});
