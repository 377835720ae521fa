import fc from 'fast-check';
import { RunId, ThreadId } from '../common/ids.js';
import { TaskEvent, taskIds } from './tasks.js';

const id = fc.oneof(fc.uuid(), fc.string());

describe(taskIds, () => {
  test('whatever the parent and the call are named, the ids are ids of a thread and of a run', () => {
    fc.assert(
      fc.property(id, id, (run, call) => {
        const { threadId, runId } = taskIds(run, call);
        expect(ThreadId.parse(threadId)).toBe(threadId);
        expect(RunId.parse(runId)).toBe(runId);
        expect(runId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        expect(threadId).not.toBe(runId);
      }),
    );
  });

  test('the same call of the same run has the same ids in every process and version', () => {
    expect(taskIds('11111111-1111-4111-8111-111111111111', 'call_1')).toEqual({
      threadId: '098d4343-3501-83e2-aeda-73900496366d',
      runId: '4af598ca-3d80-8166-bfbc-22da42e4c306',
    });
  });

  test('another run or another call has other ids, also where the joined names are the same', () => {
    fc.assert(
      fc.property(id, id, id, id, (runA, callA, runB, callB) => {
        fc.pre(runA !== runB || callA !== callB);
        const [a, b] = [taskIds(runA, callA), taskIds(runB, callB)];
        expect(new Set([a.threadId, a.runId, b.threadId, b.runId]).size).toBe(4);
      }),
    );
    expect(taskIds('a', 'b,c')).not.toEqual(taskIds('a,b', 'c'));
    expect(taskIds('a', 'b","c')).not.toEqual(taskIds('a","b', 'c'));
  });
});

describe('TaskEvent', () => {
  test('is known by its type and keeps what it says, and nothing else passes for one', () => {
    const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
    const events = [
      { type: 'task_started', task_id: 'c', description: 'd', model_name: 'm' },
      { type: 'task_completed', task_id: 'c', result: 'r', usage, model_name: 'm' },
      { type: 'task_failed', task_id: 'c', error: 'e', usage: null },
      { type: 'task_timed_out', task_id: 'c', usage: null },
      { type: 'task_cancelled', task_id: 'c', error: 'e', usage: null },
    ];
    for (const event of events) expect(TaskEvent.parse(event)).toEqual(event);
    expect(TaskEvent.safeParse({ type: 'bash_output', task_id: 'c' }).success).toBe(false);
    expect(TaskEvent.safeParse({ type: 'task_running', task_id: 'c', usage: null }).success).toBe(false);
  });
});
