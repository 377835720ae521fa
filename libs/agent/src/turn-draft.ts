import { newId, type NextNode, type RunEvent, type StateUpdate, type ThreadState } from '@caribou/contracts';
import { type AgentMiddleware, applyUpdate, type RunContext, type TurnCommit } from '@caribou/core';
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

  /** Takes over what a node produced; `start` is the event that told of its beginning. */
  add(start: TaskStart, update: StateUpdate): void {
    this.reached = applyUpdate(this.reached, update);
    for (const message of update.messages ?? []) {
      if (message.type === 'remove' || message.type === 'human' || message.type === 'system') continue;
      this.events.push({ kind: 'message', node: start.node, step: start.step, message });
    }
    this.events.push(taskEnd(start, update));
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

/** The event that a node began. */
export const taskStart = (node: string, step: number): TaskStart => ({
  kind: 'task.start',
  task_id: newId(),
  node,
  step,
  triggers: [`branch:to:${node}`],
});

const taskEnd = (start: TaskStart, update: StateUpdate): RunEvent => ({
  kind: 'task.end',
  task_id: start.task_id,
  node: start.node,
  step: start.step,
  update: { ...update, messages: update.messages === undefined ? undefined : [...update.messages] },
  error: null,
});
