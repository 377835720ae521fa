import type { PullOptions, Wake } from '@caribou/bus';
import { FencedError, UnavailableError } from '@caribou/contracts';
import { type Logger, type ThreadKey, silentLogger } from '@caribou/core';
import { type SlotLimits, type TaskSlot, type TaskSlots, redisTaskSlots } from '@caribou/state';
import { openTasks, startRedis, thread } from '@caribou/testing';
import { HeldTasks } from './held-tasks.js';
import { TaskWorker, type TaskWorkerOptions } from './task-worker.js';

type Handle = TaskWorkerOptions['executor']['handle'];
const LIMITS: SlotLimits = { maxRunning: 9, maxRunningPerUser: 3 };
const done: Handle = () => Promise.resolve({ kind: 'ack', more: false, queueIsEmpty: false });
const slotOf = (token: string, key = thread()): TaskSlot => ({ ...key, token });

interface Given {
  /** Slots that are given out one after the other; a failure in the place of one. */
  readonly next?: readonly (TaskSlot | Error)[];
  readonly handle?: Handle;
  readonly slots?: TaskSlots;
  readonly limits?: SlotLimits;
}

/** A worker whose wakes are given to it by hand; everything it does is noted in order. */
function working({ next = [], handle = done, slots: given, limits = LIMITS }: Given) {
  const steps: string[] = [];
  const waiting = [...next];
  const held = new HeldTasks();
  const warn = jest.fn();
  const slots: TaskSlots = given ?? {
    acquire: (asked) => {
      steps.push(`take ${asked.maxRunning}/${asked.maxRunningPerUser}`);
      const first = waiting.shift() ?? null;
      return first instanceof Error ? Promise.reject(first) : Promise.resolve(first);
    },
    renew: () => Promise.resolve('live'),
    parentState: () => Promise.resolve('live'),
    release: (slot) => {
      steps.push(`leave ${slot.token}${held.of(slot) === undefined ? '' : ' (held)'}`);
      return Promise.resolve();
    },
  };
  let pulled: PullOptions | undefined;
  const logger: Logger = { ...silentLogger, warn };
  const worker = new TaskWorker({
    wakes: {
      publish: (key) => {
        steps.push(`publish ${(key as TaskSlot).token}`);
        return Promise.resolve('stored');
      },
      pull: (options) => {
        pulled = options;
        return {
          occupy: () => false,
          failingMs: 0,
          stop: () => void steps.push('stop'),
          idle: () => {
            steps.push('idle');
            return Promise.resolve();
          },
        };
      },
    },
    executor: {
      handle: (key) => {
        steps.push(`run ${(key as TaskSlot).token}${held.of(key) === undefined ? '' : ' (held)'}`);
        return handle(key);
      },
    },
    registry: {
      drain: (graceMs) => {
        steps.push(`drain ${graceMs}`);
        return Promise.resolve();
      },
    },
    clock: {
      now: () => 0,
      monotonicMs: () => 0,
      sleep: (ms) => {
        steps.push(`sleep ${ms}`);
        return Promise.resolve();
      },
    },
    slots,
    held,
    logger,
    ownSlots: 4,
    limits,
    busyMs: 250,
  });
  worker.start();
  const wakeUp = (key: ThreadKey = thread()): Promise<void> => {
    const wake: Wake = {
      ...key,
      redelivered: false,
      ack: () => {
        steps.push('ack');
        return Promise.resolve(true);
      },
    };
    return pulled?.handle(wake) ?? Promise.resolve();
  };
  return { worker, steps, wakeUp, held, warn, ownSlots: pulled?.slots };
}

describe(TaskWorker, () => {
  test('asks for as many wakes at once as the process has slots', () => {
    expect(working({}).ownSlots).toBe(4);
  });

  test('T1 a wake is acknowledged before anything else, whatever comes of it', async () => {
    for (const next of [[], [slotOf('a')], [new UnavailableError('away')]]) {
      const { steps, wakeUp } = working({ next });
      await wakeUp();
      expect(steps.slice(0, 2)).toEqual(['ack', 'take 9/3']);
    }
  });

  test('T2 whoever frees a slot asks for the next task, until there is none', async () => {
    const { steps, wakeUp } = working({ next: [slotOf('a'), slotOf('b')] });

    await wakeUp();

    expect(steps).toEqual([
      ...['ack', 'take 9/3', 'run a (held)', 'leave a', 'take 9/3', 'run b (held)', 'leave b', 'take 9/3'],
    ]);
  });

  test('a task that goes on elsewhere is given back first, and then told of', async () => {
    const { steps, wakeUp } = working({
      next: [slotOf('a')],
      handle: () => Promise.resolve({ kind: 'handed_over' }),
    });

    await wakeUp();

    expect(steps).toEqual(['ack', 'take 9/3', 'run a (held)', 'leave a', 'publish a', 'take 9/3']);
  });

  test('a task whose lease another pool still holds is waited for, then given back', async () => {
    const { steps, wakeUp } = working({ next: [slotOf('a')], handle: () => Promise.resolve({ kind: 'busy' }) });

    await wakeUp();

    expect(steps).toEqual(['ack', 'take 9/3', 'run a (held)', 'sleep 250', 'leave a', 'take 9/3']);
  });

  test('a slot that was lost meanwhile costs that task only', async () => {
    const handle: Handle = (key) =>
      (key as TaskSlot).token === 'a'
        ? Promise.reject(new FencedError('lost'))
        : Promise.resolve({ kind: 'ack', more: false, queueIsEmpty: false });
    const { steps, wakeUp, warn } = working({ next: [slotOf('a'), slotOf('b')], handle });

    await wakeUp();

    expect(steps.slice(2)).toEqual(['run a (held)', 'leave a', 'take 9/3', 'run b (held)', 'leave b', 'take 9/3']);
    expect(warn).toHaveBeenCalledTimes(1);
  });

  test('a store that is away ends the round with a warning: a sweep tries again', async () => {
    const { steps, wakeUp, warn } = working({ next: [new UnavailableError('away'), slotOf('a')] });

    await wakeUp();

    expect(steps).toEqual(['ack', 'take 9/3']);
    expect(warn).toHaveBeenCalledTimes(1);
  });

  test('a defect is not swallowed, and the slot is given back', async () => {
    const error = new TypeError('broken');
    const { steps, wakeUp, held } = working({ next: [slotOf('a')], handle: () => Promise.reject(error) });

    await expect(wakeUp()).rejects.toBe(error);

    expect(steps).toEqual(['ack', 'take 9/3', 'run a (held)', 'leave a']);
    expect(held.runsFor('r')).toEqual([]);
  });

  test('a drain stops new wakes, lets what runs come to its border, and takes nothing more', async () => {
    let release: () => void = () => undefined;
    const handle: Handle = () => new Promise((resolve) => (release = () => resolve({ kind: 'handed_over' })));
    const { steps, wakeUp, worker } = working({ next: [slotOf('a'), slotOf('b')], handle });
    const round = wakeUp();
    while (!steps.includes('run a (held)')) await Promise.resolve();

    await worker.drain(1_500);
    release();
    await round;
    await wakeUp();

    expect(steps.slice(3)).toEqual(['stop', 'drain 1500', 'idle', 'leave a', 'publish a', 'ack']);
  });
});

test('several pools never run more than the limits say, leave no slot idle while tasks wait, and run each task once', async () => {
  const server = await startRedis({ appendonly: false });
  const fixture = openTasks(server.url);
  const { part, main } = fixture;
  const keys = Array.from({ length: 30 }, (_, at) => thread(`user-${at % 3}`));
  for (const [at, { userId, threadId }] of keys.entries())
    await part.use((client) => client.zadd(part.keys.pending, at, `${userId}/${threadId}`));
  const running: ThreadKey[] = [];
  const ran: string[] = [];
  const most = { all: 0, user: 0 };
  const handle: Handle = async (key) => {
    running.push(key);
    ran.push(key.threadId);
    most.all = Math.max(most.all, running.length);
    most.user = Math.max(most.user, running.filter(({ userId }) => userId === key.userId).length);
    for (let look = 0; look < 5; look += 1) await main.redis.ping();
    running.splice(running.indexOf(key), 1);
    await part.use((client) => client.zrem(part.keys.pending, `${key.userId}/${key.threadId}`));
    return { kind: 'ack', more: false, queueIsEmpty: false };
  };
  const pools = Array.from({ length: 3 }, () =>
    working({
      handle,
      limits: { maxRunning: 5, maxRunningPerUser: 2 },
      slots: redisTaskSlots({ tasks: part, parents: main.redis, leaseMs: 60_000 }),
    }),
  );

  const shares = pools.flatMap((pool, at) =>
    keys.filter((_, index) => index % 3 === at).map((key) => pool.wakeUp(key)),
  );
  await Promise.all(shares);

  expect([...ran].sort()).toEqual(keys.map(({ threadId }) => threadId).sort());
  expect(most).toEqual({ all: 5, user: 2 });
  await fixture.close();
  await server.stop();
});
