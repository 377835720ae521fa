import { Injectable } from '@nestjs/common';
import {
  isTerminal,
  NotFoundError,
  type RouteInput,
  type RunRecord,
  type ScheduledTaskReply,
  type ScheduledTaskRunReply,
  type scheduledTaskRoutes,
  textOf,
  type ThreadTaskReply,
} from '@caribou/contracts';
import type { CronRun, CronStore, ThreadStore } from '@caribou/state';
import { Dependency } from '../dependency.js';
import { runStatusOf, type TaskCron, taskJson, taskRunJson } from './task-json.js';

type RunsQuery = RouteInput<typeof scheduledTaskRoutes.runs>['query'];
type Threads = Pick<ThreadStore, 'getRun' | 'runStatus' | 'readFeed' | 'newestRuns'>;

/** Newest messages of a run among which its last answer is. */
const LOOKED_AT = 5;
const MAX_SUMMARY_CHARS = 200;
/** As many as a cron lists. */
const MAX_ENTRIES = 200;

/** What became of the runs of scheduled tasks. */
@Injectable()
export class TaskRuns {
  constructor(
    @Dependency('crons') private readonly crons: Pick<CronStore, 'runs'>,
    @Dependency('threadStore') private readonly threads: Threads,
  ) {}

  /** A task with the state of its newest run. */
  async show(task: TaskCron): Promise<ScheduledTaskReply> {
    const { userId, lastThreadId: threadId, lastRunId: runId } = task.stored;
    const isKnown = threadId !== null && runId !== null;
    return taskJson(task, isKnown ? await this.threads.runStatus({ userId, threadId }, runId) : null);
  }

  /** Newest first. */
  async list({ stored, spec }: TaskCron, query: RunsQuery): Promise<readonly ScheduledTaskRunReply[]> {
    const { userId, cronId } = stored;
    const entries = await this.crons.runs(userId, cronId, query);
    return Promise.all(
      entries.map(async (entry) => {
        const run = await this.runOf(userId, entry);
        const isOwnThread = spec.thread_id === null || spec.thread_id !== entry.threadId;
        const summary =
          run !== null && isOwnThread && isTerminal(run.status) ? await this.summaryOf(userId, run) : null;
        return taskRunJson(cronId, entry, { run, summary });
      }),
    );
  }

  /** The tasks that run on a thread, and the one that has made it. */
  async ofThread(threadId: string, tasks: readonly TaskCron[]): Promise<readonly ThreadTaskReply[]> {
    const [first] = tasks;
    if (first === undefined) return [];
    const makerId = await this.makerOf(first.stored.userId, threadId);
    const related = tasks.filter(({ stored, spec }) => spec.thread_id === threadId || stored.cronId === makerId);
    return Promise.all(
      related.map(async (task) => {
        const isOwn = task.spec.thread_id === threadId;
        const shown = await this.show(task);
        if (isOwn) return { ...shown, thread_relation: 'reuse' as const, thread_run: null };
        return { ...shown, thread_relation: 'run' as const, thread_run: await this.runOnThread(task, threadId) };
      }),
    );
  }

  /** The cron whose run is the newest of the thread; undefined: a client has started that. */
  private async makerOf(userId: string, threadId: string): Promise<unknown> {
    const [newest] = await this.threads.newestRuns({ userId, threadId }, 1);
    if (newest === undefined) return undefined;
    const run = await this.runOf(userId, { runId: newest.runId, threadId });
    return run?.metadata['cron_id'];
  }

  private async runOnThread({ stored }: TaskCron, threadId: string): Promise<ThreadTaskReply['thread_run']> {
    const { userId, cronId } = stored;
    const entries = await this.crons.runs(userId, cronId, { limit: MAX_ENTRIES, offset: 0 });
    const entry = entries.find((one) => one.threadId === threadId);
    if (entry === undefined) return null;
    const { number = null, trigger, scheduledFor } = entry;
    const status = runStatusOf(entry, await this.runOf(userId, entry));
    return { run_number: number, trigger, scheduled_for: scheduledFor, status };
  }

  /** null: no run was started, or it was deleted. */
  private async runOf(
    userId: string,
    { runId, threadId }: Pick<CronRun, 'runId' | 'threadId'>,
  ): Promise<RunRecord | null> {
    if (runId === undefined || threadId === undefined) return null;
    return ifThere(this.threads.getRun({ userId, threadId }, runId));
  }

  private async summaryOf(userId: string, { thread_id: threadId, run_id: runId }: RunRecord): Promise<string | null> {
    const page = await ifThere(this.threads.readFeed({ userId, threadId }, { runId, limit: LOOKED_AT }));
    const answers = (page?.rows ?? []).flatMap(({ message }) =>
      message.type === 'ai' ? [textOf(message.content)] : [],
    );
    const line = answers
      .at(-1)
      ?.split('\n')
      .find((text) => text.trim() !== '');
    return line === undefined ? null : line.trim().slice(0, MAX_SUMMARY_CHARS);
  }
}

/** What is read, or null when it does not exist. */
async function ifThere<Value>(read: Promise<Value>): Promise<Value | null> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}
