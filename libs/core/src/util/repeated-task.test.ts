import { RepeatedTask, type RepeatedTaskOptions } from './repeated-task.js';

type TaskParts = Pick<RepeatedTaskOptions, 'work'> & Partial<Pick<RepeatedTaskOptions, 'onFailure' | 'retryMs'>>;

describe('RepeatedTask', () => {
  const pauses: number[] = [];
  beforeEach(() => void pauses.splice(0));

  /** Its pauses end at once. */
  const clock = {
    sleep: (ms: number, signal?: AbortSignal): Promise<void> => {
      pauses.push(ms);
      return signal?.aborted === true ? Promise.reject(new Error('aborted')) : Promise.resolve();
    },
  };

  const taskOf = ({ work, onFailure, ...rest }: TaskParts): RepeatedTask => {
    const rethrow = (error: unknown): void => {
      throw error;
    };
    return new RepeatedTask({ clock, everyMs: 7, work, onFailure: onFailure ?? rethrow, ...rest });
  };

  /** Runs the work so many times, and then stops the task. */
  const runTimes = (times: number, { work, ...rest }: TaskParts): Promise<void> =>
    new Promise((resolve, reject) => {
      let runs = 0;
      const task = taskOf({
        ...rest,
        work: (signal) => {
          runs += 1;
          if (runs === times) task.stop().then(resolve, reject);
          return work(signal);
        },
      });
      task.start();
    });

  test('the work begins at once and is repeated after each pause, until the task is stopped', async () => {
    const pausesBefore: number[][] = [];
    await runTimes(3, { work: () => Promise.resolve(void pausesBefore.push([...pauses])) });
    expect(pausesBefore).toEqual([[], [7], [7, 7]]);
  });

  test('a stop aborts the signal of the current run and waits for its end', async () => {
    let finish: (() => void) | undefined;
    const seen: string[] = [];
    const task = taskOf({
      work: async (signal) => {
        seen.push('begun');
        await new Promise<void>((resolve) => (finish = resolve));
        seen.push(signal.aborted ? 'aborted' : 'not aborted');
      },
    });
    task.start();
    const stopped = task.stop().then(() => seen.push('stopped'));
    expect(seen).toEqual(['begun']);
    finish?.();
    await stopped;
    expect(seen).toEqual(['begun', 'aborted', 'stopped']);
  });

  test('the pause after a failed run is a different one', async () => {
    const outcomes = [Promise.reject(new Error('the store is away')), Promise.resolve(), Promise.resolve()];
    await runTimes(3, { work: () => outcomes.shift() ?? Promise.resolve(), onFailure: () => undefined, retryMs: 2 });
    expect(pauses.slice(0, 2)).toEqual([2, 7]);
  });

  test('a failed run is reported and repeated', async () => {
    const failures: unknown[] = [];
    const outcomes = [Promise.reject(new Error('the store is away')), Promise.resolve()];
    await runTimes(2, {
      work: () => outcomes.shift() ?? Promise.reject(new Error('run too often')),
      onFailure: (error) => failures.push(error),
    });
    expect(failures).toEqual([new Error('the store is away')]);
  });

  test('what the report of a failure throws ends the task', async () => {
    const task = taskOf({ work: () => Promise.reject(new Error('a defect')) });
    task.start();
    await expect(task.stop()).rejects.toThrow('a defect');
    expect(pauses).toEqual([]);
  });

  test('a task that was not started can be stopped', async () => {
    await expect(taskOf({ work: () => Promise.reject(new Error('not started')) }).stop()).resolves.toBeUndefined();
  });
});
