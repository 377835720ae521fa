import {
  type AiMessage,
  ApprovalAnswer,
  type ApprovalDecision,
  type ApprovalRequest,
  type ApprovalTerms,
  type Message,
  newId,
  ownUsageOf,
  subagentUsageOf,
  type ThreadState,
  toApprovalAnswer,
} from '@caribou/contracts';
import {
  type AgentMiddleware,
  billedTokens,
  callUsage,
  costOf,
  isUserMessage,
  type ModelPort,
  type RunContext,
  stateSlot,
  type Step,
} from '@caribou/core';
import { z } from 'zod';
import { lastAnswer } from '../messages/answer.js';

/** Limits of a turn; null: none. */
export interface SpendingLimits {
  readonly max_tokens: number | null;
  /** In the currency of the model's prices. */
  readonly max_cost: number | null;
  readonly terms: ApprovalTerms;
}

/** What a turn has used; it may be continued by several runs. */
const Spent = z.object({
  tokens: z.number(),
  cost: z.number(),
  /** Id of the last answer that was counted. */
  counted: z.string(),
  /** How often a person has allowed as much again. */
  allowed: z.number(),
});
type Spent = z.infer<typeof Spent>;
const slot = stateSlot('guards', 'spending-approval', Spent);
const NOTHING: Spent = { tokens: 0, cost: 0, counted: '', allowed: 0 };

type Model = Pick<ModelPort, 'name' | 'pricing'>;

const NAME = 'spending-approval';

/**
 * Has a person decide before a further model call, once a turn has used the tokens or the money of a limit, and again after as
 * much more. Subagents count with the prices of the agent's model.
 */
export function spendingApproval(limits: SpendingLimits, model: Model): AgentMiddleware {
  return {
    name: NAME,
    beforeAgent: (state) =>
      Promise.resolve({ update: slot.write({ ...NOTHING, counted: lastAnswer(state)?.id ?? '' }) }),
    afterModel(state) {
      const answer = lastAnswer(state);
      const before = slot.read(state) ?? NOTHING;
      if (answer === undefined || answer.id === before.counted) return Promise.resolve(undefined);
      return Promise.resolve({ update: slot.write(withAnswer(before, answer, { state, model })) });
    },
    async beforeModel(state, run) {
      const spent = slot.read(state) ?? NOTHING;
      const message = reasonToAsk(spent, limits, model);
      if (message === undefined) return undefined;
      const answer = await run.interrupt(toInterrupt(message, { spent, limits, run }));
      const decision = ApprovalAnswer.safeParse(answer.value).data;
      run.recordDecision(NAME, decision?.type ?? 'reject');
      if (decision?.type === 'approve') return { update: slot.write({ ...spent, allowed: spent.allowed + 1 }) };
      return endOfTurn(decision);
    },
  };
}

interface Counted {
  readonly state: ThreadState;
  readonly model: Model;
}

function withAnswer(before: Spent, answer: AiMessage, { state, model }: Counted): Spent {
  const usages = [ownUsageOf(answer), ...resultsBefore(answer, state.messages).map(subagentUsageOf)];
  const calls = usages.flatMap((usage) =>
    usage === undefined ? [] : [callUsage({ caller: 'lead_agent', model: model.name }, usage)],
  );
  const { pricing } = model;
  return {
    tokens: calls.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, before.tokens),
    cost:
      pricing === undefined
        ? before.cost
        : calls.reduce((sum, call) => sum + costOf(billedTokens(call), pricing) / 1e6, before.cost),
    counted: answer.id,
    allowed: before.allowed,
  };
}

/** The tool results directly before an answer. */
function resultsBefore(answer: AiMessage, messages: readonly Message[]): readonly Message[] {
  const before = messages.slice(0, messages.lastIndexOf(answer));
  const from = before.findLastIndex((message) => message.type === 'ai' || isUserMessage(message));
  return before.slice(from + 1).filter(({ type }) => type === 'tool');
}

function reasonToAsk({ tokens, cost, allowed }: Spent, limits: SpendingLimits, { pricing }: Model): string | undefined {
  const { max_tokens: maxTokens, max_cost: maxCost } = limits;
  if (maxTokens !== null && tokens >= maxTokens * (allowed + 1)) return `this turn has used ${tokens} tokens`;
  if (maxCost === null || pricing === undefined || cost < maxCost * (allowed + 1)) return undefined;
  return `this turn has cost ${cost.toFixed(4)} ${pricing.currency}`;
}

interface Question {
  readonly spent: Spent;
  readonly limits: SpendingLimits;
  readonly run: RunContext;
}

const ACTION = 'continue_turn';

function toInterrupt(message: string, { spent, limits, run }: Question) {
  const { decider, expires_after_seconds: seconds, on_expiry: onExpiry } = limits.terms;
  const { tokens, cost } = spent;
  const value: ApprovalRequest = {
    action_requests: [{ name: ACTION, args: { tokens, cost }, description: `Continue? So far ${message}.` }],
    review_configs: [{ action_name: ACTION, allowed_decisions: ['approve', 'reject'] }],
    reason: { rules: ['spending'], message },
  };
  return {
    kind: 'approval' as const,
    key: `spending:${spent.allowed}`,
    value,
    decider,
    ...(seconds === null
      ? {}
      : { expiresAtMs: run.clock.now() + seconds * 1_000, onExpiry: toApprovalAnswer({ type: onExpiry }) }),
  };
}

/** Ends the turn with a visible message in place of the next answer. */
function endOfTurn(decision: ApprovalDecision | undefined): Step {
  const why = decision?.message === undefined ? '' : ` The reason: ${decision.message}`;
  const message: AiMessage = {
    type: 'ai',
    id: newId(),
    content: `The turn was stopped, as its further cost was not approved.${why} What was done so far is stored.`,
    additional_kwargs: {},
    response_metadata: {},
    tool_calls: [],
    invalid_tool_calls: [],
  };
  return { update: { messages: [message] }, end: true, stopReason: 'spending_rejected' };
}
