import { taskIds, type TaskSpec } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { TaskSlot } from '@caribou/state';

/** A task that this process executes. */
export interface HeldTask {
  readonly slot: TaskSlot;
  /** The specification of the task, set when the task is claimed. */
  spec?: TaskSpec;
}

const nameOf = ({ userId, threadId }: ThreadKey): string => `${userId}/${threadId}`;

/** The tasks that this process is executing, by thread. */
export class HeldTasks {
  private readonly tasks = new Map<string, HeldTask>();

  add(slot: TaskSlot): HeldTask {
    const task: HeldTask = { slot };
    this.tasks.set(nameOf(slot), task);
    return task;
  }

  remove(task: HeldTask): void {
    if (this.tasks.get(nameOf(task.slot)) === task) this.tasks.delete(nameOf(task.slot));
  }

  of(thread: ThreadKey): HeldTask | undefined {
    return this.tasks.get(nameOf(thread));
  }

  /** The runs of tasks that this process is executing for a run. */
  runsFor(parentRunId: string): readonly string[] {
    return [...this.tasks.values()].flatMap(({ spec }) => {
      if (spec === undefined) return [];
      const { parent, continuation } = spec;
      if ((continuation?.parent_run_id ?? parent.run_id) !== parentRunId) return [];
      return [continuation?.run_id ?? taskIds(parent.run_id, parent.tool_call_id).runId];
    });
  }
}
