import { type RunEvent, type RunRecord, type TaskEvent, textOf } from '@caribou/contracts';
import type { TaskOutcome } from '@caribou/core';
import { endEventOf, taskSpecOf } from './task-outcome.js';
import { TaskProgress, type TaskStep } from './task-progress.js';
import type { PublishedTaskEvents } from './published-task-events.js';

/** Characters of a tool's result that are published: the run's log is bounded, and the task's state has all of it. */
const MAX_RESULT_CHARS = 8_192;

export interface TaskEventSink {
  /** What the log of the parent's run contains already. */
  readonly published: PublishedTaskEvents;
  readonly publish: (event: TaskEvent) => Promise<void>;
}

/** Publishes those events of a task that the log of its parent's run does not contain yet. */
export class TaskEventPublisher {
  private readonly progress = new TaskProgress();
  private started: boolean;
  private readonly common: { readonly task_id: string; readonly model_name?: string };
  private readonly description: string;

  constructor(
    record: RunRecord,
    private readonly sink: TaskEventSink,
  ) {
    const spec = taskSpecOf(record);
    this.started = sink.published.started;
    this.description = spec?.description ?? '';
    this.common = {
      task_id: spec?.parent.tool_call_id ?? record.run_id,
      ...(spec === undefined ? {} : { model_name: spec.model }),
    };
  }

  async onEvent(event: RunEvent): Promise<void> {
    if (event.kind === 'run.start' && !this.started) {
      this.started = true;
      await this.sink.publish({ type: 'task_started', ...this.common, description: this.description });
    }
    for (const step of this.progress.collectSteps(event)) await this.publishStep(step);
  }

  async end(outcome: TaskOutcome): Promise<void> {
    if (!this.sink.published.ended) await this.sink.publish(endEventOf(this.common.task_id, outcome));
  }

  private async publishStep({ message, index, usage }: TaskStep): Promise<void> {
    if (index <= this.sink.published.steps) return;
    const counts = { message_index: index, total_messages: index };
    await this.sink.publish({
      type: 'task_running',
      ...this.common,
      message: shortenResult(message),
      ...counts,
      usage,
    });
  }
}

function shortenResult(message: TaskStep['message']): TaskStep['message'] {
  if (message.type === 'ai') return message;
  const { artifact: _artifact, ...result } = message;
  const text = textOf(message.content);
  return text.length <= MAX_RESULT_CHARS ? result : { ...result, content: `${text.slice(0, MAX_RESULT_CHARS)}…` };
}
