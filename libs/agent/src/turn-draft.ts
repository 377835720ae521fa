import {
  type GoalChange,
  type HumanMessage,
  type InterruptRecord,
  type Message,
  newId,
  type NextNode,
  type RunEvent,
  type RunEventOf,
  type RunTerms,
  omitUndefined,
  toClientInterrupt,
  toClientMessage,
  toClientState,
  type StateUpdate,
  subagentUsageOf,
  type ThreadState,
} from '@caribou/contracts';
import {
  applyUpdate,
  type CallUsage,
  clientUpdate,
  interruptsAfter,
  isEmptyUpdate,
  joinUpdates,
  type TurnCommit,
} from '@caribou/core';
import type { HookName, HookPass } from '@caribou/middleware';

interface CallResult {
  readonly update: StateUpdate;
  /** What the call waits for. */
  readonly asked: readonly InterruptRecord[];
}

const NO_RESULT: CallResult = { update: {}, asked: [] };

/**
 * The progress of a run since its last commit: the reduced state, with the events and token counts for the next commit.
 * It decides nothing and calls no port; its events are published by that commit, without what is hidden from clients.
 */
export class TurnDraft {
  private events: RunEvent[] = [];
  private turns = 0;
  private calls: CallUsage[] = [];
  private totalTurns = 0;
  private reason: string | undefined;
  private joined = 0;
  private goalChange: string | undefined;

  /**
   * @param inProgress number of the super-step in progress; a hook belongs to the step of the node that it follows or
   *   precedes
   */
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

  /** Model turns since the draft was created, committed or not. */
  get modelTurns(): number {
    return this.totalTurns;
  }

  /** Why the run stops early, if the current turn has said so. */
  get stopReason(): string | undefined {
    return this.reason;
  }

  /** Applies the result of a hook over the whole chain; changes of the guards' counters create no event. */
  addHooks(hook: HookName, pass: HookPass): void {
    this.reached = pass.state;
    this.calls.push(...pass.usage);
    this.reason = pass.stopReason ?? (hook === 'beforeModel' ? undefined : this.reason);
    for (const { node, update } of pass.updates) {
      if (isEmptyUpdate(toClientState(update))) continue;
      const start = taskStart(node, this.inProgress);
      this.events.push(start, taskEnd(start, update));
    }
  }

  /**
   * Applies the results of the tasks of a node; `updates[i]` belongs to the task that `starts[i]` began. Tool messages
   * are reduced first and together, because a message between them would break the pairing of calls and results. The
   * tokens of subagents are counted with the commit of their results, so that they are counted once.
   */
  addResults(starts: readonly TaskStart[], updates: readonly StateUpdate[]): void {
    const { messages = [], ...channels } = updates.reduce<StateUpdate>(joinUpdates, {});
    const results = messages.filter((message) => message.type === 'tool');
    const others = messages.filter((message) => message.type !== 'tool');
    this.calls.push(...results.flatMap(subagentCalls));
    this.reached = applyUpdate(this.reached, { ...channels, messages: [...results, ...others] });
    const ends = starts.map((start, index) => ({ start, update: updates[index] ?? {} }));
    this.events.push(...ends.flatMap(({ start, update }) => messageEvents(start, update)));
    this.events.push(...ends.map(({ start, update }) => taskEnd(start, update)));
  }

  /** Applies the results of tool calls, `results[i]` of the task `starts[i]`; a call that waits for a person has none. */
  addCalls(starts: readonly TaskStart[], results: readonly CallResult[]): void {
    const calls = starts.map((start, index) => ({ start, ...(results[index] ?? NO_RESULT) }));
    const ended = calls.filter(({ asked }) => asked.length === 0);
    this.addResults(
      ended.map(({ start }) => start),
      ended.map(({ update }) => update),
    );
    for (const { start, asked } of calls) {
      if (asked.length > 0)
        this.events.push({ ...taskEnd(start, {}), update: null, interrupts: asked.map(toClientInterrupt) });
    }
  }

  /** Sets what waits for an answer after a node; without it, the answers that the node got are used up. */
  setInterrupts(asked: readonly InterruptRecord[] = [], continues?: RunTerms): void {
    const { interrupts: _before, ...rest } = this.reached;
    const interrupts = interruptsAfter(this.reached, asked, continues);
    if (interrupts !== undefined) this.reached = { ...rest, interrupts };
    else if (this.reached.interrupts !== undefined) this.reached = rest;
  }

  /** Applies the messages that join the run here, of `count` that waited; the next commit contains them. */
  addJoined(messages: readonly HumanMessage[], count: number): void {
    this.joined += count;
    if (messages.length === 0) return;
    const update = clientUpdate(this.reached, { messages: [...messages] });
    this.reached = applyUpdate(this.reached, update);
    const start = taskStart(STEERING_NODE, this.inProgress);
    this.events.push(start, taskEnd(start, update));
  }

  /** Makes a change of the goal, which the next commit contains; false when it did before. */
  setGoal({ text, goal }: GoalChange): boolean {
    if (this.goalChange === text) return false;
    this.goalChange = text;
    const update = { goal };
    this.reached = applyUpdate(this.reached, update);
    const start = taskStart(GOAL_NODE, this.inProgress);
    this.events.push(start, taskEnd(start, update));
    return true;
  }

  /** Continues from a state that was committed in place of the last commit of this draft. */
  resetTo(state: ThreadState): void {
    this.reached = state;
  }

  /** Sets the interrupt of a pause; answers that the next node uses up are retained for it. */
  setPaused(record: InterruptRecord): void {
    this.reached = {
      ...this.reached,
      interrupts: { open: [record], answered: this.reached.interrupts?.answered ?? [] },
    };
  }

  countModelTurn(): void {
    this.turns += 1;
    this.totalTurns += 1;
  }

  /** Adds the tokens of a model call to the next commit. */
  addCall(call: CallUsage): void {
    this.calls.push(call);
  }

  /** Returns the draft as the next commit and begins the next super-step. */
  toCommit(next: readonly NextNode[]): TurnCommit {
    const commit: TurnCommit = {
      state: this.reached,
      next,
      events: this.events,
      step: this.inProgress,
      ...(this.turns === 0 && this.calls.length === 0 ? {} : { usage: { turns: this.turns, calls: this.calls } }),
      ...(this.joined === 0 ? {} : { joined: this.joined }),
      ...omitUndefined({ goalChange: this.goalChange }),
    };
    this.events = [];
    this.turns = 0;
    this.calls = [];
    this.joined = 0;
    this.goalChange = undefined;
    this.inProgress += 1;
    return commit;
  }
}

/** The node that clients see for messages that joined the run, named like the hooks before a model call. */
const STEERING_NODE = 'steering.before_model';

/** The node that clients see for a change of the goal that was asked for during the run. */
const GOAL_NODE = 'goal.before_model';

/** Returns the tokens that a task's result reports for its subagent. */
function subagentCalls(message: Message): readonly CallUsage[] {
  const spent = subagentUsageOf(message);
  if (spent === undefined) return [];
  const model = message.additional_kwargs['subagent_model_name'];
  const { input_tokens: inputTokens, output_tokens: outputTokens } = spent;
  return [{ caller: 'subagent', model: typeof model === 'string' ? model : 'unknown', inputTokens, outputTokens }];
}

export type TaskStart = Extract<RunEvent, { kind: 'task.start' }>;

/** Creates the event that begins a task of a node. */
export const taskStart = (node: string, step: number, trigger = `branch:to:${node}`): TaskStart => ({
  kind: 'task.start',
  task_id: newId(),
  node,
  step,
  triggers: [trigger],
});

/** Creates events with the whole messages of a task, for watchers that do not follow deltas. */
const messageEvents = ({ node, step }: TaskStart, update: StateUpdate): readonly RunEvent[] =>
  (update.messages ?? []).flatMap((message) =>
    message.type === 'ai' || message.type === 'tool'
      ? [{ kind: 'message', node, step, message: toClientMessage(message) }]
      : [],
  );

const taskEnd = (start: TaskStart, update: StateUpdate): RunEventOf<'task.end'> => ({
  kind: 'task.end',
  task_id: start.task_id,
  node: start.node,
  step: start.step,
  update: { ...toClientState(update), messages: update.messages?.map(toClientMessage) },
  error: null,
});
