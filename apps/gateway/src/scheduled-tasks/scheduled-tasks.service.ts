import { Injectable } from '@nestjs/common';
import {
  type CronSpec,
  type CronTimes,
  InvalidRequestError,
  newId,
  NotFoundError,
  type RouteInput,
  type RunRecord,
  type ScheduledTaskCreate,
  type ScheduledTaskReply,
  type ScheduledTaskRunReply,
  type scheduledTaskRoutes,
  type ScheduledTaskUpdate,
} from '@caribou/contracts';
import type { CronRun, CronStore, ThreadStore } from '@caribou/state';
import { planRun, taskRequest } from '../crons/cron-run.js';
import { readCron, type ReadCron } from '../crons/cron-spec.js';
import { CronsService } from '../crons/crons.service.js';
import { Dependency } from '../dependency.js';
import { RunsService } from '../runs/runs.service.js';
import { isTask, type TaskCron, taskJson, taskRunJson } from './task-json.js';

type ScheduleSpec = ScheduledTaskCreate['schedule_spec'];
type RunsQuery = RouteInput<typeof scheduledTaskRoutes.runs>['query'];

interface Requester {
  readonly userId: string;
  readonly apiKey: string | undefined;
}

/** Scheduled tasks of DeerFlow's page: crons whose request is a prompt. */
@Injectable()
export class ScheduledTasksService {
  constructor(
    @Dependency('crons') private readonly store: CronStore,
    @Dependency('threadStore') private readonly threads: Pick<ThreadStore, 'getThread' | 'getRun' | 'runStatus'>,
    private readonly crons: CronsService,
    private readonly runs: RunsService,
  ) {}

  /** Newest first. */
  async list(userId: string): Promise<readonly ScheduledTaskReply[]> {
    const tasks = (await this.crons.list(userId)).filter(isTask).reverse();
    return Promise.all(tasks.map((task) => this.show(task)));
  }

  /** @throws {NotFoundError} for an unknown thread */
  async listOfThread(userId: string, threadId: string): Promise<readonly ScheduledTaskReply[]> {
    await this.threads.getThread({ userId, threadId });
    return (await this.list(userId)).filter((task) => task.thread_id === threadId || task.last_thread_id === threadId);
  }

  async create({ userId, apiKey }: Requester, body: ScheduledTaskCreate): Promise<ScheduledTaskReply> {
    const { title, prompt, context_mode, schedule_spec, schedule_type, timezone, thread_id } = body;
    const spec: CronSpec = {
      times: timesOf(schedule_type, schedule_spec),
      timezone,
      end_time: null,
      enabled: true,
      thread_id: threadOf(context_mode, thread_id),
      on_run_completed: 'keep',
      metadata: {},
      request: taskRequest(prompt),
      api_key: apiKey ?? null,
      task: { title, prompt, context_mode, schedule_spec },
    };
    const cron = await this.crons.store(userId, spec, `task-${newId()}`);
    return this.show(asTask(cron, cron.stored.cronId));
  }

  async get(userId: string, taskId: string): Promise<ScheduledTaskReply> {
    return this.show(await this.find(userId, taskId));
  }

  async update(userId: string, taskId: string, body: ScheduledTaskUpdate): Promise<ScheduledTaskReply> {
    const cron = await this.find(userId, taskId);
    const { spec } = cron;
    const mode = body.context_mode ?? spec.task.context_mode;
    const schedule = body.schedule_spec ?? undefined;
    const task = {
      title: body.title ?? spec.task.title,
      prompt: body.prompt ?? spec.task.prompt,
      context_mode: mode,
      schedule_spec: schedule ?? spec.task.schedule_spec,
    };
    const changed: CronSpec = {
      ...spec,
      times: schedule === undefined ? spec.times : timesOf(spec.times.type, schedule),
      timezone: body.timezone ?? spec.timezone,
      thread_id: threadOf(mode, body.thread_id ?? spec.thread_id),
      request: taskRequest(task.prompt),
      task,
    };
    const retimed = schedule !== undefined || (body.timezone ?? undefined) !== undefined;
    return this.show(asTask(await this.crons.change(cron, changed, retimed), taskId));
  }

  /** @throws {NotFoundError} */
  async setEnabled(userId: string, taskId: string, enabled: boolean): Promise<ScheduledTaskReply> {
    const cron = await this.find(userId, taskId);
    if (cron.spec.enabled === enabled) return this.show(cron);
    // A paused task may have become impossible, such as one whose time is past: only resuming it checks that.
    const spec = { ...cron.spec, enabled };
    if (enabled) return this.show(asTask(await this.crons.change(cron, spec, true), taskId));
    const { version } = cron.stored;
    const paused = await this.store.replace(
      { userId, cronId: taskId, spec: JSON.stringify(spec), dueMs: null },
      version,
    );
    return this.show(asTask(readCron(paused), taskId));
  }

  /** Starts a run now. @throws {ConflictError} when the task's thread is busy */
  async trigger({ userId, apiKey }: Requester, taskId: string): Promise<{ readonly threadId: string }> {
    const cron = await this.find(userId, taskId);
    const { version, cronId } = cron.stored;
    const planned = planRun(cron, { startMs: null, nowMs: await this.store.now() });
    const start = { cronId, version, dueMs: null, nextMs: null, missed: 0, entry: planned.entry };
    await this.runs.startForCron(planned.target, planned.body, { runId: planned.runId, apiKey, cron: start });
    return planned.target;
  }

  async remove(userId: string, taskId: string): Promise<void> {
    await this.find(userId, taskId);
    await this.store.remove(userId, taskId);
  }

  async listRuns(userId: string, taskId: string, query: RunsQuery): Promise<readonly ScheduledTaskRunReply[]> {
    await this.find(userId, taskId);
    const entries = await this.store.runs(userId, taskId, query);
    const runs = await Promise.all(entries.map((entry) => this.runOf(userId, entry)));
    return entries.map((entry, index) => taskRunJson(taskId, entry, runs[index] ?? null));
  }

  private async runOf(userId: string, { runId, threadId }: CronRun): Promise<RunRecord | null> {
    if (runId === undefined || threadId === undefined) return null;
    try {
      return await this.threads.getRun({ userId, threadId }, runId);
    } catch (error) {
      if (error instanceof NotFoundError) return null;
      throw error;
    }
  }

  private async show(task: TaskCron): Promise<ScheduledTaskReply> {
    const { userId, lastThreadId: threadId, lastRunId: runId } = task.stored;
    const isKnown = threadId !== null && runId !== null;
    return taskJson(task, isKnown ? await this.threads.runStatus({ userId, threadId }, runId) : null);
  }

  private async find(userId: string, taskId: string): Promise<TaskCron> {
    return asTask(readCron(await this.store.get(userId, taskId)), taskId);
  }
}

/** @throws {NotFoundError} for a cron that is no scheduled task */
function asTask(cron: ReadCron, taskId: string): TaskCron {
  if (isTask(cron)) return cron;
  throw new NotFoundError(`Scheduled task ${taskId} does not exist`);
}

/** @throws {InvalidRequestError} when what the type needs is missing */
function timesOf(type: CronTimes['type'], { cron, run_at: at }: ScheduleSpec): CronTimes {
  if (type === 'once') {
    if (at === undefined) throw fault('schedule_spec.run_at', 'is needed for a task that runs once');
    return { type, at };
  }
  if (cron === undefined) throw fault('schedule_spec.cron', 'is needed for a recurring task');
  if (cron.trim().split(/\s+/).length !== 5) throw fault('schedule_spec.cron', 'must have five fields');
  return { type, expression: cron };
}

function threadOf(mode: ScheduledTaskCreate['context_mode'], threadId: string | null | undefined): string | null {
  if (mode === 'fresh_thread_per_run') return null;
  if (threadId === null || threadId === undefined) throw fault('thread_id', 'is needed for reuse_thread');
  return threadId;
}

const fault = (field: string, text: string): InvalidRequestError =>
  new InvalidRequestError(`${field}: ${text}`, { details: { field } });
