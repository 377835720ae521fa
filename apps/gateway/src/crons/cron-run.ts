import { type CronSpec, newId, RunCreate } from '@caribou/contracts';
import type { CronRun } from '@caribou/state';
import { parse } from '../http/parse-input.js';
import type { RunTarget } from '../runs/requests/run-request.js';
import { stableId } from '../runs/streams/projections/stable-id.js';
import type { ReadCron } from './cron-spec.js';

/** A run that a cron is about to start. */
export interface PlannedRun {
  readonly target: RunTarget;
  readonly body: RunCreate;
  readonly runId: string;
  readonly entry: CronRun;
  /** The scheduled task, if it has a condition under which the agent of the run may stop it. */
  readonly stoppableTask: string | undefined;
}

/** A due time, or a start by hand. */
export interface Occasion {
  /** The due time in ms; null: started by hand. */
  readonly startMs: number | null;
  /** The clock of the store in ms. */
  readonly nowMs: number;
}

/**
 * The thread of a run. Those of a cron's own have ids by the due time, as the runs have: whoever repeats a start finds them.
 */
export function targetOf(userId: string, spec: CronSpec, name: string): RunTarget {
  if (spec.thread_id !== null) return { userId, threadId: spec.thread_id, temporary: false, ifNotExists: 'reject' };
  const temporary = spec.on_run_completed === 'delete';
  return { userId, threadId: stableId(`thread of ${name}`), temporary, ifNotExists: 'create' };
}

/** The request that a cron repeats. @throws {InvalidRequestError} when this version does not accept it */
export function bodyOf(spec: CronSpec, added: Readonly<Record<string, unknown>> = {}): RunCreate {
  const { multitask_strategy: strategy, metadata, ...request } = spec.request;
  const isTask = spec.task !== null;
  return parse(
    RunCreate,
    {
      ...request,
      // A task that is still at work is not started twice; a cron's runs wait for each other.
      multitask_strategy: strategy ?? (isTask ? 'reject' : 'enqueue'),
      metadata: { ...spec.metadata, ...added },
    },
    'request',
  );
}

export function planRun({ stored, spec }: ReadCron, { startMs, nowMs }: Occasion): PlannedRun {
  const { userId, cronId } = stored;
  const name = startMs === null ? newId() : `${cronId} at ${startMs}`;
  const target = targetOf(userId, spec, name);
  const scheduledFor = new Date(startMs ?? nowMs).toISOString();
  const runId = stableId(`run of ${name}`);
  return {
    target,
    runId,
    stoppableTask: (spec.task?.stop_condition ?? null) === null ? undefined : cronId,
    body: bodyOf(spec, { cron_id: cronId, scheduled_for: scheduledFor }),
    entry: {
      ...entryOf({ startMs, nowMs }),
      runId,
      threadId: target.threadId,
      // Nobody else starts a run for a due time between the read of the record and the admission, which compares it.
      ...(startMs === null ? {} : { number: stored.automatic + 1 }),
    },
  };
}

/** An entry of the list of a cron's runs. */
export const entryOf = ({ startMs, nowMs }: Occasion): CronRun => ({
  id: newId(),
  trigger: startMs === null ? 'manual' : 'scheduled',
  scheduledFor: new Date(startMs ?? nowMs).toISOString(),
  createdAt: new Date(nowMs).toISOString(),
});

export interface TaskRequest {
  readonly assistantId: string;
  readonly prompt: string;
  /** null: only limits and the user end the schedule. */
  readonly stopCondition: string | null;
}

/**
 * The request of a scheduled task: its prompt and the condition under which its schedule ends, with nobody there to answer
 * questions.
 */
export const taskRequest = ({ assistantId, prompt, stopCondition }: TaskRequest): CronSpec['request'] => ({
  assistant_id: assistantId,
  input: {
    messages: [{ type: 'human', content: `${prompt}${stopCondition === null ? '' : stopText(stopCondition)}` }],
  },
  context: { non_interactive: true },
});

const stopText = (condition: string): string =>
  `\n\nThis is a run of a schedule. The schedule ends when this is true: ${condition}\nIf it is true now, call ` +
  'stop_scheduled_task and say so in your answer. If it is not, leave the schedule alone.';
