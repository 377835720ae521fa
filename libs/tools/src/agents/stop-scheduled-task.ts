import { type AnyTool, defineTool, type SchedulePort, type ScheduleStopOutcome } from '@caribou/core';
import { z } from 'zod';
import { toFailedOutcome } from '../sandbox/sandbox-request.js';

const Input = z.object({
  reason: z.string().min(1).max(500).describe('In one sentence: what shows that the condition is met.'),
});

const TEXTS: Readonly<Record<Exclude<ScheduleStopOutcome, 'foreign'>, string>> = {
  stopped:
    'The schedule is paused: it starts no further run until the person resumes it. Finish this run with your answer.',
  over: 'The schedule has no further runs, so there is nothing to stop. Finish this run with your answer.',
};

const FOREIGN =
  'This run was not started by a scheduled task that still exists, so it cannot stop one. Tell the person to pause the task.';

/**
 * Pauses the scheduled task that has started the run. The store decides under the run's lease, once per run, so that a call
 * that a takeover repeats changes nothing.
 */
export function stopScheduledTaskTool(schedules: SchedulePort): AnyTool {
  return defineTool({
    name: 'stop_scheduled_task',
    description:
      'Pause the schedule that has started this run, so that it starts no further runs. Call it only when the condition ' +
      'under which the person wants the schedule to stop is met, and say so in your answer.',
    input: Input,
    async run(_, { run }) {
      const { userId, threadId, runId, epoch } = run;
      const { scheduled_task: taskId } = run.context;
      if (taskId === undefined) return toFailedOutcome(FOREIGN);
      const outcome = await schedules.stop({ userId, threadId, runId, epoch, taskId });
      return outcome === 'foreign' ? toFailedOutcome(FOREIGN) : { content: TEXTS[outcome] };
    },
  });
}
