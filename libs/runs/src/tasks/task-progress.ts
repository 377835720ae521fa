import type { AiMessage, Message, RemoveMessage, RunEvent, TokenCounts, ToolMessage } from '@caribou/contracts';

type StepMessage = AiMessage | ToolMessage;

/** One step of a subagent as watchers read it: an answer of its model, or a tool's result. */
export interface TaskStep {
  readonly message: StepMessage;
  /** 1-based, over answers and results. */
  readonly index: number;
  /** Of all answers up to this step; null while no provider reported any. */
  readonly usage: TokenCounts | null;
}

/**
 * The steps in a task's events: answers of its model and results of its tools, each as it is once it is committed. A hook
 * may replace a message in the step it was made in; what a later step does to it is not reported again.
 */
export class TaskProgress {
  private readonly told = new Set<string>();
  private open = new Map<string, StepMessage>();
  private spent: TokenCounts | null = null;

  /** The steps that an event made final. */
  take(event: RunEvent): readonly TaskStep[] {
    if (event.kind === 'message') this.add([event.message]);
    else if (event.kind === 'task.end') this.add(event.update?.messages ?? []);
    else if (event.kind === 'checkpoint') return this.flush();
    return [];
  }

  private add(messages: readonly (Message | RemoveMessage)[]): void {
    for (const message of messages) {
      if (isStep(message) && !this.told.has(message.id)) this.open.set(message.id, message);
    }
  }

  private flush(): readonly TaskStep[] {
    const steps = [...this.open.values()].map((message) => {
      this.told.add(message.id);
      if (message.type === 'ai') this.spent = plus(this.spent, message);
      return { message, index: this.told.size, usage: this.spent };
    });
    this.open = new Map();
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
