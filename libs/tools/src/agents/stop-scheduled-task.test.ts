import { FencedError, type RunContextValues } from '@caribou/contracts';
import type { SchedulePort, ScheduleStop, ScheduleStopOutcome } from '@caribou/core';
import { fakeRun } from '@caribou/testing';
import { stopScheduledTaskTool } from './stop-scheduled-task.js';

const TASK = { scheduled_task: 'task-1' };

/** Calls the tool in a run with a context. `asked` has what the store was asked. */
async function call(outcome: ScheduleStopOutcome | Error, context: RunContextValues = TASK) {
  const asked: ScheduleStop[] = [];
  const schedules: SchedulePort = {
    stop: (stop) => {
      asked.push(stop);
      return outcome instanceof Error ? Promise.reject(outcome) : Promise.resolve(outcome);
    },
  };
  const run = fakeRun({ userId: 'alice', threadId: 't1', epoch: 7, context });
  const invocation = { run, toolCallId: 'c1', key: 'r1:c1', state: { messages: [] } };
  const result = await stopScheduledTaskTool(schedules).invoke({ reason: 'The report is out.' }, invocation);
  return { result, asked, runId: run.runId };
}

describe(stopScheduledTaskTool, () => {
  test('asks the store under the epoch of the run, and says that the schedule is paused', async () => {
    const { result, asked, runId } = await call('stopped');
    expect(asked).toEqual([{ userId: 'alice', threadId: 't1', runId, epoch: 7, taskId: 'task-1' }]);
    expect(result).toEqual({ content: expect.stringMatching(/^The schedule is paused/) });
  });

  test('a schedule without further runs is no failure', async () => {
    expect((await call('over')).result).toEqual({ content: expect.stringMatching(/no further runs/) });
  });

  test('a run that the task has not started gets a failure that it can pass on', async () => {
    const failed = { isError: true, content: expect.stringMatching(/^Error: .*Tell the person to pause the task/) };
    expect((await call('foreign')).result).toEqual(failed);
    const { result, asked } = await call('stopped', {});
    expect([result, asked]).toEqual([failed, []]);
  });

  test('the loss of the thread ends the run and is no result for the model', async () => {
    await expect(call(new FencedError('lost'))).rejects.toThrow(FencedError);
  });
});
