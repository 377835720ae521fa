import type { AiMessage, Message, RemoveMessage, RunEvent, TokenCounts } from '@caribou/contracts';

/** One answer of a subagent's model as watchers are told of it. */
export interface TaskStep {
  readonly message: AiMessage;
  /** 1-based. */
  readonly index: number;
  /** Of this and all answers before it; null while no provider told. */
  readonly usage: TokenCounts | null;
}

/**
 * What a task's events come to: the answers of its model, each as it stands once it is committed. A hook may replace
 * an answer in the step it was made in; what a later step does to it is not told again.
 */
export class TaskProgress {
  private readonly told = new Set<string>();
  private open = new Map<string, AiMessage>();
  private spent: TokenCounts | null = null;

  /** The answers that an event made final. */
  take(event: RunEvent): readonly TaskStep[] {
    if (event.kind === 'message') this.add([event.message]);
    else if (event.kind === 'task.end') this.add(event.update?.messages ?? []);
    else if (event.kind === 'checkpoint') return this.flush();
    return [];
  }

  private add(messages: readonly (Message | RemoveMessage)[]): void {
    for (const message of messages) {
      if (message.type === 'ai' && !this.told.has(message.id)) this.open.set(message.id, message);
    }
  }

  private flush(): readonly TaskStep[] {
    const steps = [...this.open.values()].map((message) => {
      this.told.add(message.id);
      this.spent = plus(this.spent, message);
      return { message, index: this.told.size, usage: this.spent };
    });
    this.open = new Map();
    return steps;
  }
}

function plus(sum: TokenCounts | null, { usage_metadata: usage }: AiMessage): TokenCounts | null {
  if (usage === undefined) return sum;
  return {
    input_tokens: (sum?.input_tokens ?? 0) + usage.input_tokens,
    output_tokens: (sum?.output_tokens ?? 0) + usage.output_tokens,
    total_tokens: (sum?.total_tokens ?? 0) + usage.total_tokens,
  };
}
