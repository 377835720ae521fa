import type { RunEvent, RunRecord, TaskEvent } from '@caribou/contracts';
import { ai, sampleTask, taskRecord } from '@caribou/testing';
import { TaskEventPublisher } from './task-event-publisher.js';
import { NONE_PUBLISHED, type PublishedTaskEvents } from './published-task-events.js';

const record = taskRecord(sampleTask({ toolCallId: 'call_7' }));
const start: RunEvent = {
  kind: 'run.start',
  run_id: 'r',
  thread_id: 't',
  attempt: 1,
  dropped_message_ids: [],
  checkpoint_id: null,
};
const answered = (id: string): readonly RunEvent[] => [
  { kind: 'message', node: 'model_request', step: 1, message: ai(`says ${id}`, id) },
  {
    kind: 'checkpoint',
    checkpoint_id: 'c',
    parent_id: null,
    next: [],
    created_at: '',
    metadata: { source: 'loop', step: 1, parents: {} },
  },
];
const done = { status: 'completed', text: 'done', usage: null, modelName: 'm' } as const;
const whole: readonly RunEvent[] = [start, ...answered('a'), ...answered('b')];

async function publishAll(
  taskEvents: readonly RunEvent[],
  published: Partial<PublishedTaskEvents> = {},
  run: RunRecord = record,
) {
  const events: TaskEvent[] = [];
  const publish = (event: TaskEvent): Promise<void> => {
    events.push(event);
    return Promise.resolve();
  };
  const publisher = new TaskEventPublisher(run, { published: { ...NONE_PUBLISHED, ...published }, publish });
  for (const event of taskEvents) await publisher.onEvent(event);
  await publisher.end(done);
  return events;
}

const about = { task_id: 'call_7', model_name: 'm' };
const running = (id: string, index: number) => ({
  type: 'task_running',
  ...about,
  message: ai(`says ${id}`, id),
  message_index: index,
  total_messages: index,
  usage: null,
});
const ALL = [
  { type: 'task_started', ...about, description: 'some work' },
  running('a', 1),
  running('b', 2),
  { type: 'task_completed', ...about, result: 'done', usage: null },
];

describe(TaskEventPublisher, () => {
  test('an empty log gets every event, in order, with the id of the call as task id', async () => {
    expect(await publishAll(whole)).toEqual(ALL);
  });

  test('a pool that takes the task over does not start it again', async () => {
    expect(await publishAll([...whole, { ...start, attempt: 2 }])).toEqual(ALL);
  });

  test.each<[Partial<PublishedTaskEvents>, number]>([
    [{ started: true }, 1],
    [{ started: true, steps: 1 }, 2],
    [{ started: true, steps: 2 }, 3],
    [{ started: true, steps: 2, ended: true }, 4],
  ])('a log that contains %j gets the remaining events', async (published, from) => {
    expect(await publishAll(whole, published)).toEqual(ALL.slice(from));
  });

  test('of a task that ended before a pool took it only the end is published', async () => {
    expect(await publishAll([{ kind: 'end', status: 'interrupted' }])).toEqual(ALL.slice(3));
  });

  test('events of a record of another version have the id of its run', async () => {
    const [first] = await publishAll([start], {}, { ...record, metadata: {} });

    expect(first).toEqual({ type: 'task_started', task_id: record.run_id, description: '' });
  });
});
