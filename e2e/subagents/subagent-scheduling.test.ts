import type { RunRecord } from '@caribou/contracts';
import { type TestService, waitFor, waitForOutput } from '@caribou/testing';
import { ApiClient, type Frame, lastValues, type OpenStream } from '../support/client.js';
import { nth, type Stack, startStack } from '../support/stack.js';
import { kindsByTask, requestsOfTasks, taskEvents, taskLines } from '../support/task-client.js';
import { mostAtOnce, openTaskRecords, type TaskRecords, workOf } from '../support/task-records.js';

jest.setTimeout(180_000);

const KEYS = { alice: 'alice-key-1', bob: 'bob-key-123' } as const;
type User = keyof typeof KEYS;
const USERS: readonly User[] = ['alice', 'bob'];

const PARENTS = 5;
const TASKS_EACH = 4;
const OF_USER = PARENTS * TASKS_EACH;
const SLOTS = 4;
const WITH_FOUR = { context: { subagent_enabled: true, max_concurrent_subagents: TASKS_EACH } };

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);
const userOf = (name: string): User => (name.startsWith('alice') ? 'alice' : 'bob');
const counts = (names: readonly string[]): readonly number[] =>
  USERS.map((user) => names.filter((name) => userOf(name) === user).length);
const nameOf = (task: RunRecord): string => nth(workOf(task).split('\n'), 0);

interface Parent {
  readonly userId: User;
  readonly threadId: string;
  readonly names: readonly string[];
  readonly stream: OpenStream;
}

/** Two pools with four slots each, and two users who delegate twenty tasks each, in five runs each. */
class Load {
  private readonly parents: Parent[] = [];

  private constructor(
    readonly stack: Stack,
    private readonly records: TaskRecords,
  ) {}

  static async start(limits = ''): Promise<Load> {
    const env = { CARIBOU_API_KEYS: `${KEYS.alice}:alice,${KEYS.bob}:bob` };
    const stack = await startStack({ pools: 2, env, config: `subagents:\n  slots: ${SLOTS}\n${limits}` });
    return new Load(stack, openTaskRecords(stack));
  }

  /** Delegates all tasks of a user; each has a name and waits in its model call at a gate of that name. */
  async dispatch(userId: User): Promise<void> {
    const client = new ApiClient(this.stack.client().base, { 'x-api-key': KEYS[userId] });
    await Promise.all(
      numbers(PARENTS).map(async (parent) => {
        const threadId = await client.newThread();
        const names = numbers(TASKS_EACH).map((task) => `${userId}-${parent}-${task}`);
        const works = names.map((name) => `${name}\n#hold ${name}\n#say I am ${name}.`);
        const stream = await client.run(threadId, `${taskLines(...works)}\n#say Done.`, WITH_FOUR);
        this.parents.push({ userId, threadId, names, stream });
      }),
    );
    await waitFor(async () => (await this.tasksOf(userId)).length === OF_USER, {
      what: `the tasks of ${userId}`,
      timeoutMs: 60_000,
    });
  }

  tasksOf(userId: User): Promise<readonly RunRecord[]> {
    return this.records.ofThreads(this.parents.filter((parent) => parent.userId === userId));
  }

  /** Names of the tasks that are in their model call, once there are this many. */
  async running(count: number): Promise<readonly string[]> {
    const names = (): readonly string[] => this.stack.model.listHolds().map(({ name }) => name);
    await waitFor(() => names().length === count, { what: `${count} tasks in a model call`, timeoutMs: 60_000 });
    return names();
  }

  /** Lets a task complete, and returns the one that has its slot then; all slots are taken, before and after. */
  async replace(name: string, among: number): Promise<string> {
    const before = new Set(await this.running(among));
    this.stack.model.release(name);
    const after = await this.running(among);
    return nth(
      after.filter((one) => !before.has(one)),
      0,
    );
  }

  /** Lets all tasks complete; returns their records. */
  async finish(): Promise<readonly RunRecord[]> {
    for (const { names } of this.parents) for (const name of names) this.stack.model.release(name);
    for (const { stream, names } of this.parents) expectWhole(await stream.end(120_000), names);
    return (await Promise.all(USERS.map((user) => this.tasksOf(user)))).flat();
  }

  async stop(): Promise<void> {
    await this.records.close();
    await this.stack.stop();
  }
}

/** A parent publishes the events of each of its tasks in order, and gets each result. */
function expectWhole(frames: readonly Frame[], names: readonly string[]): void {
  expect([...kindsByTask(taskEvents(frames)).values()]).toEqual(
    names.map(() => ['task_started', 'task_running', 'task_completed']),
  );
  const results = lastValues(frames).filter(({ type }) => type === 'tool');
  expect(results.map(({ content }) => content)).toEqual(names.map((name) => `Task Succeeded. Result: I am ${name}.`));
  expect(frames.at(-1)?.event).toBe('end');
}

/** For each process, the ids of the runs that it has completed, from its log; waits until they are `count` together. */
async function runsOf(pools: readonly TestService[], count: number): Promise<readonly ReadonlySet<string>[]> {
  const ended = /^.*"event":"run\.end".*\n/gm;
  const together = { output: () => pools.map((pool) => pool.output()).join('\n') };
  await waitForOutput(together, ended, { times: count });
  return pools.map(
    (pool) =>
      new Set([...pool.output().matchAll(ended)].map(([line]) => (JSON.parse(line) as { runId: string }).runId)),
  );
}

describe('forty tasks of two users, two pools with four slots each', () => {
  let load: Load;

  afterEach(() => load.stop());

  test('never more than eight run; the later user gets every freed slot until both have as many', async () => {
    load = await Load.start();
    await load.dispatch('alice');
    expect(counts(await load.running(2 * SLOTS))).toEqual([8, 0]);
    await load.dispatch('bob');
    const waiting = new Map((await load.tasksOf('alice')).concat(await load.tasksOf('bob')).map(byName));
    const seen: (readonly number[])[] = [];

    for (const number of numbers(12)) {
      const running = await load.running(2 * SLOTS);
      for (const name of running) waiting.delete(name);
      const freed = number < SLOTS || number % 2 === 0 ? 'alice' : 'bob';
      const next = await load.replace(
        nth(
          running.filter((name) => userOf(name) === freed),
          0,
        ),
        2 * SLOTS,
      );
      expectOldest(next, waiting);
      seen.push(counts(await load.running(2 * SLOTS)));
    }

    expect(seen.slice(0, SLOTS)).toEqual([
      [7, 1],
      [6, 2],
      [5, 3],
      [4, 4],
    ]);
    expect(seen.slice(SLOTS)).toEqual(numbers(12 - SLOTS).map(() => [4, 4]));
    const tasks = await load.finish();
    expect(tasks.map(({ status }) => status)).toEqual(numbers(2 * OF_USER).map(() => 'success'));
    expect(mostAtOnce(tasks)).toBe(2 * SLOTS);
    for (const task of tasks) expect(requestsOfTasks(load.stack, nameOf(task))).toHaveLength(1);
    for (const own of await runsOf(load.stack.pools, tasks.length)) {
      expect(mostAtOnce(tasks.filter(({ run_id: id }) => own.has(id)))).toBe(SLOTS);
    }
  });

  test('limits over all pools and per user hold below the number of slots', async () => {
    load = await Load.start('  max_running: 5\n  max_running_per_user: 3\n');
    await Promise.all(USERS.map((user) => load.dispatch(user)));
    const first = await load.running(5);
    expect(counts(first).toSorted((one, other) => one - other)).toEqual([2, 3]);

    const tasks = await load.finish();

    expect(tasks.map(({ status }) => status)).toEqual(numbers(2 * OF_USER).map(() => 'success'));
    expect(mostAtOnce(tasks)).toBe(5);
    for (const user of USERS) expect(mostAtOnce(tasks.filter(({ user_id: of }) => of === user))).toBeLessThanOrEqual(3);
  });
});

const byName = (task: RunRecord): readonly [string, RunRecord] => [nameOf(task), task];

/** This task had waited longest among the waiting tasks of its user. */
function expectOldest(name: string, waiting: ReadonlyMap<string, RunRecord>): void {
  const others = [...waiting.values()].filter(({ user_id: user }) => user === userOf(name));
  const oldest = Math.min(...others.map(({ created_at: since }) => Date.parse(since)));
  expect(Date.parse(waiting.get(name)?.created_at ?? '')).toBe(oldest);
}
