import { type DelegatedTaskDetailReply, type DelegatedTaskReply, NotFoundError } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { TaskStore, ThreadStore } from '@caribou/state';
import { Injectable } from '@nestjs/common';
import { Dependency } from '../dependency.js';
import { resultOf, taskJson } from './task-json.js';

/** The tasks that a user's runs delegated to subagents. */
@Injectable()
export class TasksService {
  constructor(
    @Dependency('threadStore') private readonly threads: Pick<ThreadStore, 'getRun'>,
    @Dependency('taskStore') private readonly tasks: Pick<TaskStore, 'tasksOf' | 'find' | 'head'>,
  ) {}

  /** @throws {NotFoundError} for an unknown run */
  async list(thread: ThreadKey, runId: string): Promise<readonly DelegatedTaskReply[]> {
    await this.threads.getRun(thread, runId);
    const all = (await this.tasks.tasksOf(thread)).flatMap((run) => taskJson(run) ?? []);
    return all.filter((task) => task.run_id === runId);
  }

  /** @throws {NotFoundError} for an unknown run or task, or a task whose record has expired */
  async get(thread: ThreadKey, runId: string, taskId: string): Promise<DelegatedTaskDetailReply> {
    await this.threads.getRun(thread, runId);
    const run = await this.tasks.find({ userId: thread.userId, parentRunId: runId, toolCallId: taskId });
    const task = run === null ? undefined : taskJson(run);
    if (run === null || task === undefined)
      throw new NotFoundError(`Task ${taskId} does not exist, or is no longer stored`, { details: { taskId } });
    const head = await this.tasks.head(run);
    return { ...task, result: resultOf(run, head), messages: [...(head?.state.messages ?? [])] };
  }
}
