import { UnavailableError } from '@caribou/contracts';
import { type MemoryJob, type MemoryJobKey, type MemoryJobs, silentLogger, systemClock } from '@caribou/core';
import { waitFor } from '@caribou/testing';
import { MemoryWorker } from './memory-worker.js';

const key = (threadId: string): MemoryJobKey => ({ userId: 'u', threadId, agent: 'lead_agent' });
const jobOf = (of: MemoryJobKey): MemoryJob => ({
  lease: { ...of, ownerId: 'w', epoch: 1 },
  said: 1,
  watermark: 0,
  lastEntry: 2,
  attempts: 0,
  failingMs: 0,
  seen: [],
});

/** Jobs that the test controls, and an extraction that lasts until the test ends it. */
function fixture({ slots = 2, pollMs = 5, idleMs = 60_000 } = {}) {
  const ready: MemoryJobKey[] = [];
  const polls: number[] = [];
  const open = new Map<string, () => void>();
  const cut: string[] = [];
  let failing = false;
  const orphaned: MemoryJobKey[] = [];
  const jobs: Pick<MemoryJobs, 'ready' | 'orphans' | 'take'> = {
    orphans: () => (failing ? Promise.reject(new UnavailableError('away')) : Promise.resolve(orphaned)),
    ready: (limit) => {
      polls.push(limit);
      if (failing) return Promise.reject(new UnavailableError('away'));
      return Promise.resolve({ jobs: ready.slice(0, limit), nextInMs: null, due: ready.length });
    },
    take: (job) => {
      const at = ready.findIndex(({ threadId }) => threadId === job.threadId);
      return Promise.resolve(at < 0 ? null : jobOf(ready.splice(at, 1)[0] ?? job));
    },
  };
  const run = (job: MemoryJob, stop: AbortSignal): Promise<'learnt' | 'retry'> =>
    new Promise((resolve, reject) => {
      const { threadId } = job.lease;
      open.set(threadId, () => (threadId === 'broken' ? reject(new TypeError('x')) : resolve('learnt')));
      stop.addEventListener('abort', () => {
        cut.push(threadId);
        resolve('retry');
      });
    });
  const worker = new MemoryWorker({
    jobs,
    extraction: { run },
    metrics: { memoryDue: () => undefined },
    clock: systemClock,
    logger: silentLogger,
    slots,
    pollMs,
    idleMs,
  });
  const end = (threadId: string): void => {
    open.get(threadId)?.();
    open.delete(threadId);
  };
  return { worker, ready, orphaned, polls, open, cut, end, fail: (value: boolean) => (failing = value) };
}

const are = (map: ReadonlyMap<string, unknown>, ...names: string[]): Promise<unknown> =>
  waitFor(() => Promise.resolve([...map.keys()].join() === names.join()), { what: names.join() });

describe(MemoryWorker, () => {
  test('processes as many threads at once as it has slots, and the next as soon as one ends', async () => {
    const { worker, ready, open, polls, end } = fixture({ pollMs: 60_000 });
    ready.push(...['a', 'b', 'c'].map(key));
    worker.start();
    await are(open, 'a', 'b');
    expect(Math.max(...polls)).toBe(2);
    end('a');
    await are(open, 'b', 'c');
    end('b');
    end('c');
    await worker.drain(1_000);
  });

  test('a notification ends the long pause of an idle worker', async () => {
    const { worker, ready, open, polls, end } = fixture();
    worker.start();
    await waitFor(() => Promise.resolve(polls.length > 0), { what: 'the first poll' });
    ready.push(key('a'));
    worker.notify();
    await are(open, 'a');
    end('a');
    await worker.drain(1_000);
  });

  test('an extraction that throws frees its slot', async () => {
    const { worker, ready, open, end } = fixture({ slots: 1 });
    ready.push(key('broken'), key('a'));
    worker.start();
    await are(open, 'broken');
    end('broken');
    await are(open, 'a');
    end('a');
    await worker.drain(1_000);
  });

  test('takes jobs of dead processes over while slots are free, and survives a store that is away', async () => {
    const { worker, ready, orphaned, open, end, fail } = fixture({ idleMs: 60_000 });
    worker.start();
    fail(true);
    await worker.takeOver(['p']);
    fail(false);
    for (const name of ['a', 'b', 'c']) orphaned.push(key(name));
    ready.push(...orphaned);

    await worker.takeOver(['p']);

    expect([...open.keys()]).toEqual(['a', 'b']);
    ready.length = 0;
    end('a');
    end('b');
    await worker.drain(1_000);
  });

  test('polls again after the store was unavailable', async () => {
    const { worker, ready, open, polls, end, fail } = fixture();
    fail(true);
    ready.push(key('a'));
    worker.start();
    await waitFor(() => Promise.resolve(polls.length > 2), { what: 'some polls' });
    fail(false);
    await are(open, 'a');
    end('a');
    await worker.drain(1_000);
  });

  test('a drain takes no new jobs, waits for those that end in time and aborts the others', async () => {
    const { worker, ready, open, cut, end } = fixture();
    ready.push(key('a'), key('b'));
    worker.start();
    await are(open, 'a', 'b');
    ready.push(key('c'));
    const drained = worker.drain(50);
    end('a');
    await drained;
    expect(cut).toContain('b');
    expect([...open.keys()]).not.toContain('c');
    expect(ready).toHaveLength(1);
  });
});
