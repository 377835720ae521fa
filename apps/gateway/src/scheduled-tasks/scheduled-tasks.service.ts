import { Injectable } from '@nestjs/common';
import {
  ConflictError,
  newId,
  NotFoundError,
  type RouteInput,
  type ScheduledTaskCreate,
  type ScheduledTaskRenewal,
  type ScheduledTaskReply,
  type ScheduledTaskRunReply,
  type scheduledTaskRoutes,
  type ScheduledTaskUpdate,
  type ThreadTaskReply,
} from '@caribou/contracts';
import type { CronStore, ThreadStore } from '@caribou/state';
import { planRun } from '../crons/cron-run.js';
import { readCron, type ReadCron } from '../crons/cron-spec.js';
import { CronsService } from '../crons/crons.service.js';
import { Dependency } from '../dependency.js';
import { RunsService } from '../runs/runs.service.js';
import { isOver, isTask, type TaskCron } from './task-json.js';
import { TaskRuns } from './task-runs.js';
import { changedTaskSpec, newTaskSpec, withLimits } from './task-spec.js';

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
    @Dependency('threadStore') private readonly threads: Pick<ThreadStore, 'getThread'>,
    private readonly crons: CronsService,
    private readonly runs: RunsService,
    private readonly taskRuns: TaskRuns,
  ) {}

  /** Newest first. */
  async list(userId: string): Promise<readonly ScheduledTaskReply[]> {
    return Promise.all((await this.tasksOf(userId)).map((task) => this.taskRuns.show(task)));
  }

  /** @throws {NotFoundError} for an unknown thread */
  async listOfThread(userId: string, threadId: string): Promise<readonly ThreadTaskReply[]> {
    await this.threads.getThread({ userId, threadId });
    return this.taskRuns.ofThread(threadId, await this.tasksOf(userId));
  }

  /**
   * What became of tasks that a conversation has made: conversations make none.
   *
   * @throws {NotFoundError} for an unknown thread
   */
  async eventsOfThread(userId: string, threadId: string): Promise<{ readonly events: readonly never[] }> {
    await this.threads.getThread({ userId, threadId });
    return { events: [] };
  }

  /** @throws {InvalidRequestError} naming the field; {NotFoundError} for the thread or the assistant */
  async create({ userId, apiKey }: Requester, body: ScheduledTaskCreate): Promise<ScheduledTaskReply> {
    const taskId = `task-${newId()}`;
    const spec = newTaskSpec(body, { apiKey, nowMs: await this.store.now() });
    return this.taskRuns.show(asTask(await this.crons.store(userId, spec, taskId), taskId));
  }

  async get(userId: string, taskId: string): Promise<ScheduledTaskReply> {
    return this.taskRuns.show(await this.find(userId, taskId));
  }

  /** @throws {InvalidRequestError} naming the field; {ConflictError} when the runs of a new schedule are used up */
  async update(userId: string, taskId: string, body: ScheduledTaskUpdate): Promise<ScheduledTaskReply> {
    const cron = await this.find(userId, taskId);
    const { spec, retimed } = changedTaskSpec(cron, body, await this.store.now());
    return this.taskRuns.show(asTask(await this.crons.change(cron, spec, retimed), taskId));
  }

  /** @throws {ConflictError} for a task that is over, {NotFoundError} */
  async pause(userId: string, taskId: string): Promise<ScheduledTaskReply> {
    const cron = await this.find(userId, taskId);
    if (!cron.spec.enabled) return this.taskRuns.show(cron);
    if (isOver(cron)) throw new ConflictError('the task is over: it has no further runs that could be paused');
    const spec = JSON.stringify({ ...cron.spec, enabled: false });
    // Without the checks of a change: a schedule that has become impossible can still be paused.
    const draft = { userId, cronId: taskId, spec, dueMs: null, maxRuns: null };
    return this.taskRuns.show(asTask(readCron(await this.store.replace(draft, cron.stored.version)), taskId));
  }

  /**
   * Gives a task that is paused or over due times from now on, with new limits if there are any in the request.
   *
   * @throws {ConflictError} when its runs are used up; {InvalidRequestError} when its time is past
   */
  async resume(userId: string, taskId: string, renewal: ScheduledTaskRenewal): Promise<ScheduledTaskReply> {
    const cron = await this.find(userId, taskId);
    const isRenewed = renewal.max_runs !== undefined || renewal.end_at !== undefined;
    if (cron.spec.enabled && !isOver(cron) && !isRenewed) return this.taskRuns.show(cron);
    const timezone = cron.spec.timezone ?? 'UTC';
    const spec = withLimits(cron.spec, renewal, { timezone, used: cron.stored.automatic });
    return this.taskRuns.show(asTask(await this.crons.change(cron, { ...spec, enabled: true }, true), taskId));
  }

  /** Starts a run now. @throws {ConflictError} when the task's thread is busy */
  async trigger({ userId, apiKey }: Requester, taskId: string): Promise<{ readonly threadId: string }> {
    const cron = await this.find(userId, taskId);
    const { version, cronId } = cron.stored;
    const planned = planRun(cron, { startMs: null, nowMs: await this.store.now() });
    const { runId, stoppableTask } = planned;
    const byHand = { dueMs: null, nextMs: null, missed: 0, maxRuns: null };
    const start = { cronId, version, ...byHand, entry: planned.entry };
    await this.runs.startForCron(planned.target, planned.body, { runId, apiKey, stoppableTask, cron: start });
    return planned.target;
  }

  async remove(userId: string, taskId: string): Promise<void> {
    await this.find(userId, taskId);
    await this.store.remove(userId, taskId);
  }

  async listRuns(userId: string, taskId: string, query: RunsQuery): Promise<readonly ScheduledTaskRunReply[]> {
    return this.taskRuns.list(await this.find(userId, taskId), query);
  }

  private async tasksOf(userId: string): Promise<readonly TaskCron[]> {
    return (await this.crons.list(userId)).filter(isTask).reverse();
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
