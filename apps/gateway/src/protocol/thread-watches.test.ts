import { UnavailableError } from '@caribou/contracts';
import { waitFor } from '@caribou/testing';
import { ThreadWatches } from './thread-watches.js';

const THREAD = { userId: 'u', threadId: 't' };

function scene(checkMs = 10) {
  const state = {
    admitted: 0,
    isDown: false,
    subscriptions: 0,
    listeners: new Set<() => void>(),
    reads: 0,
    followedForMs: 0,
  };
  const watches = new ThreadWatches(
    {
      store: {
        noteFollowed: (_thread, forMs) => {
          state.followedForMs = forMs;
          state.reads += 1;
          if (state.isDown) return Promise.reject(new UnavailableError('away'));
          return Promise.resolve(state.admitted);
        },
      },
      bus: {
        subscribeThreadRuns: (_thread, listener) => {
          state.subscriptions += 1;
          state.listeners.add(listener);
          return Promise.resolve(() => {
            state.subscriptions -= 1;
            state.listeners.delete(listener);
          });
        },
      },
    },
    checkMs,
  );
  return { watches, state };
}

const never = new AbortController().signal;

describe(ThreadWatches, () => {
  test('a notification wakes all streams of a thread, which share one subscription', async () => {
    const { watches, state } = scene(60_000);
    const [one, other] = [await watches.open(THREAD), await watches.open(THREAD)];
    expect([state.subscriptions, watches.size]).toEqual([1, 1]);
    const woken = Promise.all([one, other].map((watch) => watch.waitBeyond(watch.version, never)));
    for (const listener of state.listeners) listener();
    await woken;
    one.close();
    one.close();
    expect(state.subscriptions).toBe(1);
    other.close();
    expect([state.subscriptions, watches.size]).toEqual([0, 0]);
  });

  test('an open watch is one that the store knows of, for longer than until the next check', async () => {
    const { watches, state } = scene(60_000);
    const watch = await watches.open(THREAD);
    expect([state.reads, state.followedForMs > 60_000]).toEqual([1, true]);
    watch.close();
  });

  test('a run whose notification was lost is found by the number of runs, also after the store was away', async () => {
    const { watches, state } = scene();
    const watch = await watches.open(THREAD);
    await waitFor(() => state.reads > 1, { what: 'two checks' });
    const { version } = watch;
    state.isDown = true;
    const reads = state.reads;
    await waitFor(() => state.reads > reads + 1, { what: 'checks without an answer' });
    expect(watch.version).toBe(version);
    state.isDown = false;
    state.admitted = 1;
    await watch.waitBeyond(version, never);
    watch.close();
  });

  test('a wait ends with its signal, and at once when there was news', async () => {
    const { watches } = scene(60_000);
    const watch = await watches.open(THREAD);
    const leaving = new AbortController();
    const waiting = watch.waitBeyond(watch.version, leaving.signal);
    leaving.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    await watch.waitBeyond(watch.version - 1, never);
    watch.close();
  });
});
