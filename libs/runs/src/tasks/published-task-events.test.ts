import { newId, type NumberedEvent, type RunEvent, type TaskEvent } from '@caribou/contracts';
import type { RunEventLog } from '@caribou/state';
import { ai } from '@caribou/testing';
import { NONE_PUBLISHED, readPublishedTaskEvents } from './published-task-events.js';

const custom = (data: unknown): RunEvent => ({ kind: 'custom', data });
const started = (id: string): RunEvent => custom({ type: 'task_started', task_id: id, description: 'd' });
const running = (id: string, index: number): RunEvent =>
  custom({
    type: 'task_running',
    task_id: id,
    message: ai('x'),
    usage: null,
    message_index: index,
    total_messages: index,
  } satisfies TaskEvent);

/** A log that is read in pages; its first events may have been trimmed. */
function logOf(events: readonly RunEvent[], firstSeq = 1) {
  const numbered: NumberedEvent[] = events.map((event, at) => ({ seq: firstSeq + at, event }));
  const reads: number[] = [];
  const log: RunEventLog = {
    read: (_userId, _runId, { after, limit }) => {
      reads.push(after);
      const page = numbered.filter(({ seq }) => seq > after).slice(0, limit);
      return Promise.resolve({ events: page, firstKept: firstSeq, lastSeq: numbered.at(-1)?.seq ?? 0 });
    },
  };
  return { log, reads };
}

const read = async (events: readonly RunEvent[]) =>
  Object.fromEntries(await readPublishedTaskEvents(logOf(events).log, 'u', newId()));

describe(readPublishedTaskEvents, () => {
  test('an empty log and events of other kinds contain nothing about tasks', async () => {
    expect(await read([])).toEqual({});
    expect(
      await read([custom({ type: 'bash_output', task_id: 'a' }), custom(null), { kind: 'end', status: 'success' }]),
    ).toEqual({});
  });

  test('the events of each task are collected separately', async () => {
    const ends: TaskEvent[] = [
      { type: 'task_completed', task_id: 'c', result: 'r', usage: null },
      { type: 'task_failed', task_id: 'd', error: 'e', usage: null },
      { type: 'task_timed_out', task_id: 'e', usage: null },
      { type: 'task_cancelled', task_id: 'f', error: 'e', usage: null },
    ];

    expect(await read([started('a'), started('b'), running('b', 1), running('b', 2), ...ends.map(custom)])).toEqual({
      a: { started: true, steps: 0, ended: false },
      b: { started: true, steps: 2, ended: false },
      ...Object.fromEntries(['c', 'd', 'e', 'f'].map((id) => [id, { ...NONE_PUBLISHED, ended: true }])),
    });
  });

  test('a log longer than a page is read to its end, also when its beginning was trimmed', async () => {
    const events = [...Array.from({ length: 1_200 }, (_, at) => running('a', at + 1)), started('b')];
    const { log, reads } = logOf(events, 301);

    const tasks = await readPublishedTaskEvents(log, 'u', 'r');

    expect(tasks.get('a')).toMatchObject({ steps: 1_200 });
    expect(tasks.get('b')).toMatchObject({ started: true });
    expect(reads).toEqual([0, 800, 1_300]);
  });
});
