import type { AiMessage, Message, RemoveMessage, RunEvent, TokenCounts, ToolMessage } from '@caribou/contracts';

type StepMessage = AiMessage | ToolMessage;

/** One step of a subagent as it is published: an answer of its model, or a tool's result. */
export interface TaskStep {
  readonly message: StepMessage;
  /** The number of the step, from 1, counting answers and results. */
  readonly index: number;
  /** The usage of all answers up to this step; null while no provider reported any. */
  readonly usage: TokenCounts | null;
}

/**
 * Collects the steps from a task's events: answers of its model and results of its tools, as they are committed. A hook may
 * replace a message in the step that made it; a change by a later step is not reported.
 */
export class TaskProgress {
  private readonly reported = new Set<string>();
  private uncommitted = new Map<string, StepMessage>();
  private usage: TokenCounts | null = null;

  /** Returns the steps that this event commits. */
  collectSteps(event: RunEvent): readonly TaskStep[] {
    if (event.kind === 'message') this.add([event.message]);
    else if (event.kind === 'task.end') this.add(event.update?.messages ?? []);
    else if (event.kind === 'checkpoint') return this.flush();
    return [];
  }

  private add(messages: readonly (Message | RemoveMessage)[]): void {
    for (const message of messages) {
      if (isStep(message) && !this.reported.has(message.id)) this.uncommitted.set(message.id, message);
    }
  }

  private flush(): readonly TaskStep[] {
    const steps = [...this.uncommitted.values()].map((message) => {
      this.reported.add(message.id);
      if (message.type === 'ai') this.usage = plus(this.usage, message);
      return { message, index: this.reported.size, usage: this.usage };
    });
    this.uncommitted = new Map();
    return steps;
  }
}

const isStep = (message: Message | RemoveMessage): message is StepMessage =>
  message.type === 'ai' || message.type === 'tool';

function plus(sum: TokenCounts | null, { usage_metadata: usage }: AiMessage): TokenCounts | null {
  if (usage === undefined) return sum;
  return {
    input_tokens: (sum?.input_tokens ?? 0) + usage.input_tokens,
    output_tokens: (sum?.output_tokens ?? 0) + usage.output_tokens,
    total_tokens: (sum?.total_tokens ?? 0) + usage.total_tokens,
  };
}
