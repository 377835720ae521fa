import type { RunEvent, RunRecord, TaskEvent } from '@caribou/contracts';
import { ai, sampleTask, taskRecord } from '@caribou/testing';
import { TaskTeller } from './task-teller.js';
import { NOTHING_TOLD, type Told } from './told-events.js';

const record = taskRecord(sampleTask({ toolCallId: 'call_7' }));
const start: RunEvent = {
  ...{ kind: 'run.start', run_id: 'r', thread_id: 't', attempt: 1, dropped_message_ids: [], checkpoint_id: null },
};
const answered = (id: string): readonly RunEvent[] => [
  { kind: 'message', node: 'model_request', step: 1, message: ai(`says ${id}`, id) },
  {
    ...{ kind: 'checkpoint', checkpoint_id: 'c', parent_id: null, next: [], created_at: '' },
    metadata: { source: 'loop', step: 1, parents: {} },
  },
];
const done = { status: 'completed', text: 'done', usage: null, modelName: 'm' } as const;
const whole: readonly RunEvent[] = [start, ...answered('a'), ...answered('b')];

async function toldOf(events: readonly RunEvent[], told: Partial<Told> = {}, run: RunRecord = record) {
  const heard: TaskEvent[] = [];
  const tell = (event: TaskEvent): Promise<void> => {
    heard.push(event);
    return Promise.resolve();
  };
  const teller = new TaskTeller(run, { told: { ...NOTHING_TOLD, ...told }, tell });
  for (const event of events) await teller.take(event);
  await teller.end(done);
  return heard;
}

const about = { task_id: 'call_7', model_name: 'm' };
const running = (id: string, index: number) => ({
  ...{ type: 'task_running', ...about, message: ai(`says ${id}`, id) },
  ...{ message_index: index, total_messages: index, usage: null },
});
const ALL = [
  { type: 'task_started', ...about, description: 'some work' },
  running('a', 1),
  running('b', 2),
  { type: 'task_completed', ...about, result: 'done', usage: null },
];

describe(TaskTeller, () => {
  test('who knows nothing is told all, in order, under the id of the call', async () => {
    expect(await toldOf(whole)).toEqual(ALL);
  });

  test('a pool that takes the task over does not start it again', async () => {
    expect(await toldOf([...whole, { ...start, attempt: 2 }])).toEqual(ALL);
  });

  test.each<[Partial<Told>, number]>([
    [{ started: true }, 1],
    [{ started: true, steps: 1 }, 2],
    [{ started: true, steps: 2 }, 3],
    [{ started: true, steps: 2, ended: true }, 4],
  ])('who knows %j is told the rest', async (told, from) => {
    expect(await toldOf(whole, told)).toEqual(ALL.slice(from));
  });

  test('a task that ended before a pool took it is told only as ended', async () => {
    expect(await toldOf([{ kind: 'end', status: 'interrupted' }])).toEqual(ALL.slice(3));
  });

  test('a record of another version is told under the id of its run', async () => {
    const [first] = await toldOf([start], {}, { ...record, metadata: {} });

    expect(first).toEqual({ type: 'task_started', task_id: record.run_id, description: '' });
  });
});
