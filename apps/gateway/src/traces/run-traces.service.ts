import {
  NotFoundError,
  type RequestReply,
  type RouteInput,
  type RunRecord,
  type runTraceRoutes,
  type TraceReply,
} from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { RunTraces, TaskStore, ThreadStore } from '@caribou/state';
import { Injectable } from '@nestjs/common';
import { Dependency } from '../dependency.js';
import { runJson } from '../runs/run-json.js';
import { requestJson } from './request-json.js';

/** A run, or a task, whose trace is asked for. */
export interface FoundRun {
  readonly run: RunRecord;
  readonly traces: RunTraces;
}

type Query<Name extends keyof typeof runTraceRoutes> = RouteInput<(typeof runTraceRoutes)[Name]>['query'];

/** What happened in runs and in their tasks, from their traces. */
@Injectable()
export class RunTracesService {
  constructor(
    @Dependency('threadStore') private readonly threads: Pick<ThreadStore, 'getRun'>,
    @Dependency('taskStore') private readonly tasks: Pick<TaskStore, 'find'>,
    @Dependency('runTraces') private readonly ofRuns: RunTraces,
    @Dependency('taskTraces') private readonly ofTasks: RunTraces,
  ) {}

  /** @throws {NotFoundError} for an unknown run */
  async findRun(thread: ThreadKey, runId: string): Promise<FoundRun> {
    return { run: await this.threads.getRun(thread, runId), traces: this.ofRuns };
  }

  /** @throws {NotFoundError} for an unknown run or task, or a task whose record has expired, and its trace with it */
  async findTask(thread: ThreadKey, runId: string, taskId: string): Promise<FoundRun> {
    await this.threads.getRun(thread, runId);
    const run = await this.tasks.find({ userId: thread.userId, parentRunId: runId, toolCallId: taskId });
    if (run === null)
      throw new NotFoundError(`Task ${taskId} does not exist, or is no longer stored`, { details: { taskId } });
    return { run, traces: this.ofTasks };
  }

  async trace({ run, traces }: FoundRun, { after, limit }: Query<'trace'>): Promise<TraceReply> {
    const { entries, next, retainedUntilMs } = await traces.read(tracedRun(run), { after, limit });
    return {
      run: runJson(run),
      retained_until: retainedUntilMs === null ? null : new Date(retainedUntilMs).toISOString(),
      entries: [...entries],
      next,
    };
  }

  /** @throws {NotFoundError} when the run has no model call of this number whose request is stored */
  async request({ run, traces }: FoundRun, call: number, { offset, limit }: Query<'request'>): Promise<RequestReply> {
    const request = await traces.request(tracedRun(run), call, { offset, limit });
    if (request === null)
      throw new NotFoundError(`the run has no request ${call}, or it is no longer stored`, {
        details: { runId: run.run_id, call },
      });
    return requestJson(request, { runId: run.run_id, call, offset });
  }
}

const tracedRun = (run: RunRecord) => ({
  userId: run.user_id,
  threadId: run.thread_id,
  runId: run.run_id,
  record: run,
});
