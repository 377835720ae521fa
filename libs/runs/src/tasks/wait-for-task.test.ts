import { once } from 'node:events';
import { type RunRecord, type TaskEvent, UnavailableError } from '@caribou/contracts';
import { RunCancelled, systemClock, type TaskOutcome } from '@caribou/core';
import { ai, callOfTask, sampleTask, silentBus, type TaskFixture, useTasks, waitFor } from '@caribou/testing';
import { NONE_PUBLISHED } from './published-task-events.js';
import { type TaskWaitPorts, waitForTask } from './wait-for-task.js';

let fixture: TaskFixture;

useTasks((opened) => {
  fixture = opened;
});

/** A clock that is far ahead: every limit of what began before is over. */
const late = { ...systemClock, now: () => Date.now() + 1e9 };
const away = () => Promise.reject(new UnavailableError('away'));

function waiting(record: RunRecord, over: Partial<TaskWaitPorts> = {}) {
  const bus = silentBus();
  const ports: TaskWaitPorts = {
    store: fixture.tasks,
    log: fixture.taskLog,
    bus,
    clock: systemClock,
    maxQueueMs: 60_000,
    checkMs: 5,
    ...over,
  };
  const heard: TaskEvent[] = [];
  const stop = new AbortController();
  const publish = (event: TaskEvent): Promise<void> => {
    heard.push(event);
    return Promise.resolve();
  };
  const outcome: Promise<TaskOutcome | null> = waitForTask(ports, record, {
    signal: stop.signal,
    published: NONE_PUBLISHED,
    publish,
  });
  outcome.catch(() => undefined);
  return { outcome, heard, stop, bus, kinds: () => heard.map(({ type }) => type) };
}

const task = sampleTask;
const counted = { turns: 1, calls: [{ caller: 'lead_agent', model: 'm', inputTokens: 10, outputTokens: 2 }] } as const;

describe(waitForTask, () => {
  test('publishes events as they happen, and returns how the task ended', async () => {
    const asked = task();
    const { outcome, heard, kinds } = waiting(await fixture.tasks.dispatch(asked));
    let pool = await fixture.take(asked);
    await waitFor(() => kinds().includes('task_started'), { what: 'the start to be published' });
    pool = await fixture.answer(pool, ai('Looking.'), counted);
    await waitFor(() => kinds().includes('task_running'), { what: 'the first answer to be published' });
    await fixture.finish(await fixture.answer(pool, ai('It is 4.'), counted));

    expect(await outcome).toEqual({
      status: 'completed',
      text: 'It is 4.',
      modelName: 'm',
      usage: { input_tokens: 20, output_tokens: 4, total_tokens: 24 },
    });
    expect(kinds()).toEqual(['task_started', 'task_running', 'task_running', 'task_completed']);
    expect(heard.at(-1)).toMatchObject({ result: 'It is 4.', task_id: 'call_1', usage: { total_tokens: 24 } });
  });

  test('of a task that has ended already returns at once', async () => {
    const asked = task();
    await fixture.tasks.dispatch(asked);
    await fixture.finish(await fixture.answer(await fixture.take(asked), ai('Done.')));
    const record = await fixture.tasks.dispatch(asked);

    const { outcome, kinds } = waiting(record, { checkMs: 60_000 });

    expect(await outcome).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(kinds()).toEqual(['task_started', 'task_running', 'task_completed']);
  });

  test('a trimmed log, even without its last event, still leads to the end', async () => {
    const asked = task();
    const record = await fixture.tasks.dispatch(asked);
    await fixture.finish(await fixture.answer(await fixture.take(asked), ai('Done.')));
    const { part } = fixture;
    await part.use((client) => client.xtrim(part.keys.runEvents(asked.userId, record.run_id), 'MINID', '4-0'));
    expect(await waiting(record).outcome).toMatchObject({ status: 'completed', text: 'Done.' });

    await part.use((client) => client.del(part.keys.runEvents(asked.userId, record.run_id)));
    expect(await waiting(record).outcome).toMatchObject({ status: 'completed', text: 'Done.' });
    const { outcome } = waiting(await fixture.tasks.dispatch(asked), { checkMs: 60_000 });
    expect(await outcome).toMatchObject({ status: 'completed', text: 'Done.' });
  });

  test('a task whose record is removed during the wait has failed, and that is published', async () => {
    const asked = task();
    const { outcome, heard, kinds } = waiting(await fixture.tasks.dispatch(asked));
    await fixture.take(asked).then((pool) => fixture.finish(pool, { status: 'interrupted', rollback: true }));

    expect(await outcome).toEqual({ status: 'failed', text: 'Task disappeared from background tasks', usage: null });
    expect(kinds().at(-1)).toBe('task_failed');
    expect(heard.at(-1)).toMatchObject({ error: 'Task disappeared from background tasks' });
  });

  test('the end of the parent ends the wait with its reason, and the task continues', async () => {
    const asked = task();
    const { outcome, stop, kinds, bus } = waiting(await fixture.tasks.dispatch(asked));
    const pool = await fixture.take(asked);
    await waitFor(() => kinds().length > 0, { what: 'the start to be published' });
    const reason = new RunCancelled('interrupt');

    stop.abort(reason);

    await expect(outcome).rejects.toBe(reason);
    expect(bus.cancelled).toEqual([]);
    expect(await fixture.runs.renew(pool.lease)).toEqual({ cancel: null });
    expect(kinds()).toEqual(['task_started']);
  });

  test('a store that is unavailable for a while only delays the end', async () => {
    const asked = task();
    const record = await fixture.tasks.dispatch(asked);
    let failures = 0;
    const sometimes = <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) => {
      let left = 2;
      return (...args: Args): Promise<Result> => {
        if (left === 0) return call(...args);
        left -= 1;
        failures += 1;
        return away();
      };
    };
    const { find, head, cancel } = fixture.tasks;
    const store = { find: sometimes(find), head: sometimes(head), cancel };
    const log = { read: sometimes(fixture.taskLog.read) };
    const { outcome, kinds } = waiting(record, { store, log });
    await fixture.finish(await fixture.answer(await fixture.take(asked), ai('Done.')));

    expect(await outcome).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(kinds()).toEqual(['task_started', 'task_running', 'task_completed']);
    expect(failures).toBe(6);
  });
});

describe('a timeout', () => {
  test('before a pool took the task removes it from the queue and reports that', async () => {
    const asked = task();
    const { outcome, heard, kinds, bus } = waiting(await fixture.tasks.dispatch(asked), {
      maxQueueMs: 2_000,
      clock: late,
    });

    const text = 'no subagent-pool had room for the task within 2 seconds';
    expect(await outcome).toEqual({ status: 'failed', text, usage: null, modelName: 'm' });
    expect(kinds()).toEqual(['task_failed']);
    expect(heard[0]).toMatchObject({ error: text });
    expect(bus.cancelled).toEqual([]);
    expect(await fixture.tasks.find(callOfTask(asked))).toMatchObject({ status: 'interrupted' });
    expect(await fixture.runs.listUnowned(1)).toEqual([]);
  });

  test('of a task that a pool has asks it to end, and reports that no end was seen', async () => {
    const asked = task({ timeoutMs: 840_000 });
    await fixture.tasks.dispatch(asked);
    const pool = await fixture.answer(await fixture.take(asked), ai('Looking.'), counted);
    const record = await fixture.tasks.dispatch(asked);

    const { outcome, heard, bus } = waiting(record, { clock: late, log: { read: away } });

    expect(await outcome).toEqual({
      status: 'polling_timed_out',
      modelName: 'm',
      text: 'Task polling timed out after 15 minutes. Its subagent-pool gave no sign that it had ended.',
      usage: { input_tokens: 10, output_tokens: 2, total_tokens: 12 },
    });
    expect(heard).toEqual([
      {
        type: 'task_timed_out',
        task_id: 'call_1',
        model_name: 'm',
        usage: { input_tokens: 10, output_tokens: 2, total_tokens: 12 },
      },
    ]);
    expect(bus.cancelled).toEqual([record.run_id]);
    expect(await fixture.runs.renew(pool.lease)).toEqual({ cancel: 'interrupt' });
  });

  test('of a task that had ended by then leaves its result', async () => {
    const asked = task();
    await fixture.tasks.dispatch(asked);
    const pool = await fixture.take(asked);
    const record = await fixture.tasks.dispatch(asked);
    await fixture.finish(await fixture.answer(pool, ai('Done.')));

    const { outcome, kinds } = waiting(record, { clock: late, log: { read: away } });

    expect(await outcome).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(kinds()).toEqual(['task_completed']);
  });

  test('of the queue does not end a task that a pool took in time', async () => {
    const asked = task();
    const maxQueueMs = 2_000;
    const { outcome, kinds } = waiting(await fixture.tasks.dispatch(asked), { maxQueueMs });
    const beganMs = performance.now();
    const pool = await fixture.take(asked);

    await waitFor(() => performance.now() - beganMs > maxQueueMs + 100, { what: 'the time in the queue to be over' });
    await fixture.finish(await fixture.answer(pool, ai('Done.')));

    expect(await outcome).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(kinds().at(-1)).toBe('task_completed');
  });

  test('has no effect once the parent has ended', async () => {
    const asked = task();
    const reason = new RunCancelled('interrupt');
    const over = new AbortController();
    const read = async (): Promise<never> => {
      if (!over.signal.aborted) await once(over.signal, 'abort');
      waited.stop.abort(reason);
      return away();
    };
    const clock = { ...late, now: () => (setTimeout(() => over.abort(), 50), late.now()) };
    const waited = waiting(await fixture.tasks.dispatch(asked), { clock, log: { read } });

    await expect(waited.outcome).rejects.toBe(reason);
    expect(waited.heard).toEqual([]);
    expect(await fixture.tasks.find(callOfTask(asked))).toMatchObject({ status: 'pending' });
  });

  test('while the store is unavailable is published once it is back', async () => {
    const asked = task();
    const record = await fixture.tasks.dispatch(asked);
    let cancels = 0;
    const cancel: TaskWaitPorts['store']['cancel'] = (run) => {
      cancels += 1;
      return cancels < 3 ? away() : fixture.tasks.cancel(run);
    };

    const { outcome } = waiting(record, { clock: late, maxQueueMs: 1, store: { ...fixture.tasks, cancel } });

    expect(await outcome).toMatchObject({ status: 'failed' });
    expect(cancels).toBe(3);
    expect(await fixture.tasks.find(callOfTask(asked))).toMatchObject({ status: 'interrupted' });
  });
});
