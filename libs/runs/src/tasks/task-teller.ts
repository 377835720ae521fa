import { type RunEvent, type RunRecord, type TaskEvent, textOf } from '@caribou/contracts';
import type { TaskOutcome } from '@caribou/core';
import { endEventOf, taskSpecOf } from './task-outcome.js';
import { TaskProgress, type TaskStep } from './task-progress.js';
import type { Told } from './told-events.js';

/** Characters of a tool's result that watchers get: the run's log is bounded, and the task keeps all of it. */
const MAX_RESULT_CHARS = 8_192;

export interface Watchers {
  /** What they know already. */
  readonly told: Told;
  readonly tell: (event: TaskEvent) => Promise<void>;
}

/** Tells watchers what they do not know yet. */
export class TaskTeller {
  private readonly progress = new TaskProgress();
  private started: boolean;
  private readonly about: { readonly task_id: string; readonly model_name?: string };
  private readonly description: string;

  constructor(
    record: RunRecord,
    private readonly watchers: Watchers,
  ) {
    const spec = taskSpecOf(record);
    this.started = watchers.told.started;
    this.description = spec?.description ?? '';
    this.about = {
      task_id: spec?.parent.tool_call_id ?? record.run_id,
      ...(spec === undefined ? {} : { model_name: spec.model }),
    };
  }

  async take(event: RunEvent): Promise<void> {
    if (event.kind === 'run.start' && !this.started) {
      this.started = true;
      await this.watchers.tell({ type: 'task_started', ...this.about, description: this.description });
    }
    for (const step of this.progress.take(event)) await this.tellStep(step);
  }

  async end(outcome: TaskOutcome): Promise<void> {
    if (!this.watchers.told.ended) await this.watchers.tell(endEventOf(this.about.task_id, outcome));
  }

  private async tellStep({ message, index, usage }: TaskStep): Promise<void> {
    if (index <= this.watchers.told.steps) return;
    const counts = { message_index: index, total_messages: index };
    await this.watchers.tell({ type: 'task_running', ...this.about, message: shortened(message), ...counts, usage });
  }
}

function shortened(message: TaskStep['message']): TaskStep['message'] {
  if (message.type === 'ai') return message;
  const { artifact: _artifact, ...result } = message;
  const text = textOf(message.content);
  return text.length <= MAX_RESULT_CHARS ? result : { ...result, content: `${text.slice(0, MAX_RESULT_CHARS)}…` };
}
