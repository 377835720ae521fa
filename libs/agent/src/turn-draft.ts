import { newId, type NextNode, type RunEvent, type StateUpdate, type ThreadState } from '@caribou/contracts';
import { type AgentMiddleware, applyUpdate, joinUpdates, type RunContext, type TurnCommit } from '@caribou/core';
import { type HookName, runHooks } from '@caribou/middleware';

/**
 * What a run reached and has not made durable yet: the reduced state and the events that ride with the next commit.
 * Nothing in it is told before that commit.
 */
export class TurnDraft {
  private events: RunEvent[] = [];
  private usage = { inputTokens: 0, outputTokens: 0, calls: 0 };

  /** @param step number of the super-step in progress; hooks belong to the node they stand beside. */
  constructor(
    private reached: ThreadState,
    private inProgress: number,
  ) {}

  get state(): ThreadState {
    return this.reached;
  }

  get step(): number {
    return this.inProgress;
  }

  /** Runs one hook over the chain; answers whether a hook asked to end the run. */
  async runHooks(chain: readonly AgentMiddleware[], hook: HookName, run: RunContext): Promise<boolean> {
    const pass = await runHooks(chain, hook, this.reached, run);
    this.reached = pass.state;
    for (const { node, update } of pass.updates) {
      const start = taskStart(node, this.inProgress);
      this.events.push(start, taskEnd(start, update));
    }
    return pass.ended;
  }

  /**
   * Takes over what the tasks of a node produced, `updates[i]` by the task that `starts[i]` told of. Tool messages are
   * reduced first and together: a message between them would break the pairing of calls and results.
   */
  add(starts: readonly TaskStart[], updates: readonly StateUpdate[]): void {
    const { messages = [], ...channels } = updates.reduce<StateUpdate>(joinUpdates, {});
    const results = messages.filter((message) => message.type === 'tool');
    const others = messages.filter((message) => message.type !== 'tool');
    this.reached = applyUpdate(this.reached, { ...channels, messages: [...results, ...others] });
    const ends = starts.map((start, index) => ({ start, update: updates[index] ?? {} }));
    this.events.push(...ends.flatMap(({ start, update }) => messageEvents(start, update)));
    this.events.push(...ends.map(({ start, update }) => taskEnd(start, update)));
  }

  count(usage: { readonly input_tokens: number; readonly output_tokens: number } | undefined): void {
    this.usage = {
      inputTokens: this.usage.inputTokens + (usage?.input_tokens ?? 0),
      outputTokens: this.usage.outputTokens + (usage?.output_tokens ?? 0),
      calls: this.usage.calls + 1,
    };
  }

  /** The draft as a checkpoint to be; the next super-step begins. */
  take(next: readonly NextNode[]): TurnCommit {
    const commit: TurnCommit = {
      state: this.reached,
      next,
      events: this.events,
      step: this.inProgress,
      ...(this.usage.calls === 0 ? {} : { usage: this.usage }),
    };
    this.events = [];
    this.usage = { inputTokens: 0, outputTokens: 0, calls: 0 };
    this.inProgress += 1;
    return commit;
  }
}

export type TaskStart = Extract<RunEvent, { kind: 'task.start' }>;

/** The event that a task of a node began. */
export const taskStart = (node: string, step: number, trigger = `branch:to:${node}`): TaskStart => ({
  kind: 'task.start',
  task_id: newId(),
  node,
  step,
  triggers: [trigger],
});

/** The whole messages a task made, for those who do not follow deltas. */
const messageEvents = ({ node, step }: TaskStart, update: StateUpdate): readonly RunEvent[] =>
  (update.messages ?? []).flatMap((message) =>
    message.type === 'ai' || message.type === 'tool' ? [{ kind: 'message', node, step, message }] : [],
  );

const taskEnd = (start: TaskStart, update: StateUpdate): RunEvent => ({
  kind: 'task.end',
  task_id: start.task_id,
  node: start.node,
  step: start.step,
  update: { ...update, messages: update.messages === undefined ? undefined : [...update.messages] },
  error: null,
});
