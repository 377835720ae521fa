import {
  type Message,
  newId,
  type NextNode,
  type RunEvent,
  shownToClients,
  type StateUpdate,
  subagentUsageOf,
  type ThreadState,
} from '@caribou/contracts';
import {
  type AgentMiddleware,
  applyUpdate,
  type CallUsage,
  isEmptyUpdate,
  joinUpdates,
  type RunContext,
  type TurnCommit,
} from '@caribou/core';
import { type HookName, type HookPass, runHooks } from '@caribou/middleware';

/**
 * What a run reached and has not made durable yet: the reduced state and the events that ride with the next commit.
 * Nothing in it is told before that commit.
 */
export class TurnDraft {
  private events: RunEvent[] = [];
  private turns = 0;
  private calls: CallUsage[] = [];
  private reason: string | undefined;

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

  /** Why the run stops early, if the turn in progress said so. */
  get stopReason(): string | undefined {
    return this.reason;
  }

  /** Runs one hook over the chain; what it changed of the guards' counters is told to nobody. */
  async runHooks(chain: readonly AgentMiddleware[], hook: HookName, run: RunContext): Promise<HookPass> {
    const pass = await runHooks(chain, hook, this.reached, run);
    this.reached = pass.state;
    this.calls.push(...pass.usage);
    this.reason = pass.stopReason ?? (hook === 'beforeModel' ? undefined : this.reason);
    for (const { node, update } of pass.updates) {
      if (isEmptyUpdate(shownToClients(update))) continue;
      const start = taskStart(node, this.inProgress);
      this.events.push(start, taskEnd(start, update));
    }
    return pass;
  }

  /**
   * Takes over what the tasks of a node produced, `updates[i]` by the task that `starts[i]` told of. Tool messages are
   * reduced first and together: a message between them would break the pairing of calls and results. What subagents
   * spent counts with the commit of their results, and so once.
   */
  add(starts: readonly TaskStart[], updates: readonly StateUpdate[]): void {
    const { messages = [], ...channels } = updates.reduce<StateUpdate>(joinUpdates, {});
    const results = messages.filter((message) => message.type === 'tool');
    const others = messages.filter((message) => message.type !== 'tool');
    this.calls.push(...results.flatMap(subagentCalls));
    this.reached = applyUpdate(this.reached, { ...channels, messages: [...results, ...others] });
    const ends = starts.map((start, index) => ({ start, update: updates[index] ?? {} }));
    this.events.push(...ends.flatMap(({ start, update }) => messageEvents(start, update)));
    this.events.push(...ends.map(({ start, update }) => taskEnd(start, update)));
  }

  /** Counts a model turn, and what it cost when the provider told. */
  count(model: string, usage: { readonly input_tokens: number; readonly output_tokens: number } | undefined): void {
    this.turns += 1;
    if (usage === undefined) return;
    const { input_tokens: inputTokens, output_tokens: outputTokens } = usage;
    this.calls.push({ caller: 'lead_agent', model, inputTokens, outputTokens });
  }

  /** The draft as a checkpoint to be; the next super-step begins. */
  take(next: readonly NextNode[]): TurnCommit {
    const commit: TurnCommit = {
      state: this.reached,
      next,
      events: this.events,
      step: this.inProgress,
      ...(this.turns === 0 && this.calls.length === 0 ? {} : { usage: { turns: this.turns, calls: this.calls } }),
    };
    this.events = [];
    this.turns = 0;
    this.calls = [];
    this.inProgress += 1;
    return commit;
  }
}

/** What a task's result says its subagent spent. */
function subagentCalls(message: Message): readonly CallUsage[] {
  const spent = subagentUsageOf(message);
  if (spent === undefined) return [];
  const model = message.additional_kwargs['subagent_model_name'];
  const { input_tokens: inputTokens, output_tokens: outputTokens } = spent;
  return [{ caller: 'subagent', model: typeof model === 'string' ? model : 'unknown', inputTokens, outputTokens }];
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
  update: { ...shownToClients(update), messages: update.messages === undefined ? undefined : [...update.messages] },
  error: null,
});
