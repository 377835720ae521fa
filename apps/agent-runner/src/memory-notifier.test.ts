import { UnavailableError } from '@caribou/contracts';
import { silentLogger, systemClock, type ThreadKey } from '@caribou/core';
import { createMemoryNotifier } from './memory-notifier.js';

const thread = (threadId: string): ThreadKey => ({ userId: 'u', threadId });

function fixture(publish: () => Promise<'stored'> = () => Promise.resolve('stored')) {
  const published: string[] = [];
  let ms = 0;
  const nudge = createMemoryNotifier({
    wakes: {
      publish: ({ threadId }) => {
        published.push(threadId);
        return publish();
      },
    },
    clock: { ...systemClock, monotonicMs: () => ms },
    logger: silentLogger,
    everyMs: 1_000,
  });
  return { nudge, published, at: (value: number) => (ms = value) };
}

describe(createMemoryNotifier, () => {
  test('nudges at once, and then at most once in its time', () => {
    const { nudge, published, at } = fixture();
    for (const [ms, id] of [
      [0, 'a'],
      [1, 'b'],
      [999, 'c'],
      [1_000, 'd'],
      [1_500, 'e'],
    ] as const) {
      at(ms);
      nudge(thread(id));
    }
    expect(published).toEqual(['a', 'd']);
  });

  test('one that did not arrive does not keep the next one back, and is no failure', async () => {
    const { nudge, published } = fixture(() => Promise.reject(new UnavailableError('NATS is away')));
    nudge(thread('a'));
    await new Promise((resolve) => setImmediate(resolve));
    nudge(thread('b'));
    await new Promise((resolve) => setImmediate(resolve));
    expect(published).toEqual(['a', 'b']);
  });
});
