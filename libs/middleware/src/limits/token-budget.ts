import { type AiMessage, type Message, type ThreadState, UsageMetadata } from '@caribou/contracts';
import { type AgentMiddleware, isUserMessage, type RunContext, runSlot, type Step } from '@caribou/core';
import { z } from 'zod';
import { lastAnswer } from '../messages/answer.js';
import { createHiddenMessage } from '../messages/hidden-message.js';
import { hasCalls, markStopped, toStoppedAnswer } from '../messages/strip-tool-calls.js';

const NAME = 'token-budget';
const STOP_REASON = 'token_capped';

const Spent = z.object({
  input: z.number(),
  output: z.number(),
  /** Id of the last answer that was counted. */
  counted: z.string(),
  /** Whether a warning to the agent is due or was sent. */
  hint: z.enum(['none', 'due', 'told']),
  /** Whether the budget is exhausted, so that the model's next message is the answer. */
  answering: z.boolean(),
});
type Spent = z.infer<typeof Spent>;
const slot = runSlot(NAME, Spent);
const NOTHING: Spent = { input: 0, output: 0, counted: '', hint: 'none', answering: false };

export interface TokenBudget {
  /** Limit of input and output together; null: no limit. */
  readonly max_tokens: number | null;
  readonly max_input_tokens: number | null;
  readonly max_output_tokens: number | null;
  /** Share of a limit at which the agent is warned. */
  readonly warn_threshold: number;
  /** Share of a limit at which it must answer. */
  readonly hard_stop_threshold: number;
}

export type TokenBudgetOptions = Partial<TokenBudget>;

const DEFAULTS: TokenBudget = {
  max_tokens: 200_000,
  max_input_tokens: null,
  max_output_tokens: null,
  warn_threshold: 0.8,
  hard_stop_threshold: 1,
};

/**
 * Limits the tokens of a run, including its subagents. Near the limit the agent is warned once. At the
 * limit its tool calls are not executed, and it is called once more without tools: text next to tool calls only
 * announces the next step, so ending there would give the user no result. This exceeds the limit by one call.
 *
 * Sums are stored in the thread, so neither a takeover nor summarization resets them. An answer is counted once, before
 * other hooks add to its usage.
 */
export function tokenBudget(options: TokenBudgetOptions = {}): AgentMiddleware {
  const budget = { ...DEFAULTS, ...options };
  return {
    name: NAME,
    beforeModel(state, run) {
      const spent = slot.read(state, run);
      if (spent?.hint !== 'due') return Promise.resolve(undefined);
      const text = spent.answering ? ANSWER_TEXT : hintText(fullest(spent, budget));
      const messages = [createHiddenMessage('budget_warning', text)];
      return Promise.resolve({ update: { messages, ...slot.write({ ...spent, hint: 'told' }, run) } });
    },
    wrapModelCall: (request, next, run) =>
      next(slot.read(request.state, run)?.answering === true ? { ...request, toolChoice: 'none' } : request),
    afterModel(state, run) {
      const message = lastAnswer(state);
      const before = slot.read(state, run) ?? NOTHING;
      if (message === undefined || message.id === before.counted) return Promise.resolve(undefined);
      const spent = withAnswer(before, message, state);
      const { share } = fullest(spent, budget);
      if (share >= budget.hard_stop_threshold) return Promise.resolve(atLimit(message, spent, run));
      const due = spent.hint === 'none' && share >= budget.warn_threshold;
      if (due) run.recordDecision(NAME, 'warned', { input: spent.input, output: spent.output });
      return Promise.resolve({ update: slot.write(due ? { ...spent, hint: 'due' } : spent, run) });
    },
  };
}

/**
 * Ends the run with an answer: the present one, else one more. The mark prevents other hooks from requesting another.
 */
function atLimit(message: AiMessage, spent: Spent, run: RunContext): Step {
  const counted = slot.write({ ...spent, answering: true, hint: spent.answering ? spent.hint : 'due' }, run);
  const stopReason = STOP_REASON;
  if (!hasCalls(message)) {
    const update = { ...counted, messages: [markStopped(message, STOP_REASON)] };
    return spent.answering ? { update, stopReason } : { update };
  }
  run.recordDecision(NAME, 'stopped', { input: spent.input, output: spent.output });
  const note = spent.answering ? LAST_NOTE : ANSWER_FOLLOWS_NOTE;
  const update = { ...counted, messages: [toStoppedAnswer(message, note, STOP_REASON)] };
  return { update, stopReason, ...(spent.answering ? {} : { again: true }) };
}

/** Adds an answer and the subagents' results before it to the sums. */
function withAnswer(before: Spent, message: AiMessage, { messages }: ThreadState): Spent {
  const usages = [message.usage_metadata, ...resultsBefore(message, messages).map(subagentUsage)];
  const sum = (field: 'input_tokens' | 'output_tokens'): number =>
    usages.reduce((total, usage) => total + Math.max(0, usage?.[field] ?? 0), 0);
  return {
    input: before.input + sum('input_tokens'),
    output: before.output + sum('output_tokens'),
    counted: message.id,
    hint: before.hint,
    answering: before.answering,
  };
}

/** The tool results directly before an answer, since the last message of the user or model. */
function resultsBefore(answer: AiMessage, messages: readonly Message[]): readonly Message[] {
  const before = messages.slice(0, messages.lastIndexOf(answer));
  const from = before.findLastIndex((message) => message.type === 'ai' || isUserMessage(message));
  return before.slice(from + 1).filter(({ type }) => type === 'tool');
}

const subagentUsage = ({ additional_kwargs }: Message): UsageMetadata | undefined =>
  UsageMetadata.safeParse(additional_kwargs['subagent_token_usage']).data;

interface Fill {
  readonly share: number;
  readonly used: number;
  readonly limit: number;
  readonly kind: string;
}

/** The limit with the highest usage. */
function fullest({ input, output }: Spent, budget: TokenBudget): Fill {
  const fills = [
    { kind: 'tokens', used: input + output, limit: budget.max_tokens },
    { kind: 'input tokens', used: input, limit: budget.max_input_tokens },
    { kind: 'output tokens', used: output, limit: budget.max_output_tokens },
  ].flatMap(({ kind, used, limit }) => (limit === null ? [] : [{ kind, used, limit, share: used / limit }]));
  const none: Fill = { kind: 'tokens', used: 0, limit: 0, share: 0 };
  return fills.reduce((most: Fill, fill) => (fill.share > most.share ? fill : most), none);
}

const hintText = ({ kind, used, limit, share }: Fill): string =>
  `[TOKEN BUDGET] This run has used ${used} of its ${limit} ${kind} (${Math.floor(share * 100)} %). Bring the work to an ` +
  'end: make only calls you cannot do without, then answer.';

const ANSWER_TEXT =
  '[TOKEN BUDGET] The token budget of this run is used up, and no tool can be called any more. Answer the person now with ' +
  'what you have, and say what is missing.';

const ANSWER_FOLLOWS_NOTE =
  '[TOKEN BUDGET REACHED] The token budget of this run is used up. The next tool calls were not made; an answer from what ' +
  'is known so far follows.';

const LAST_NOTE =
  '[TOKEN BUDGET REACHED] The token budget of this run is used up. The run ends with what is known so far.';
