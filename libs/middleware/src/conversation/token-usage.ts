import {
  type AiMessage,
  type Message,
  ownUsageOf,
  SUBAGENT_USAGE,
  subagentUsageOf,
  type Todo,
  type TokenCounts,
  type ToolMessage,
} from '@caribou/contracts';
import type { AgentMiddleware, RunContext } from '@caribou/core';
import { attributionOf } from './token-attribution.js';

export interface TokenUsageOptions {
  readonly enabled?: boolean;
}

const ATTRIBUTION = 'token_usage_attribution';
/** Marks a task's result whose tokens were added to the message that dispatched it. */
const ATTRIBUTED = 'subagent_token_usage_attributed';

/**
 * Logs the tokens of each answer, records in the message what they were for, and adds the tokens of subagents to the
 * message that dispatched them. Totals of runs and threads do not depend on it.
 *
 * The attribution is added before the message is published and committed, where it needs no further log entry and
 * event; `afterModel` corrects it when another hook changed the calls.
 */
export function tokenUsage({ enabled = true }: TokenUsageOptions = {}): AgentMiddleware {
  if (!enabled) return { name: 'token-usage' };
  return {
    name: 'token-usage',
    async wrapModelCall(request, next) {
      const answer = await next(request);
      return withAttribution(answer, request.state.todos ?? []);
    },
    afterModel({ messages, todos = [] }, run) {
      const last = messages.at(-1);
      const changed: Message[] = [...withSubagents(messages)];
      if (changed.length > 0) run.recordDecision('token-usage', 'subagent_tokens_added', { count: changed.length });
      if (last?.type === 'ai' && last.additional_kwargs['deerflow_error_fallback'] !== true) {
        logUsage(last, run);
        const right = withAttribution(last, todos);
        if (right !== last) changed.push(right);
      }
      return Promise.resolve(changed.length === 0 ? undefined : { update: { messages: changed } });
    },
  };
}

/** Adds the attribution to the message; returns the same object when it is up to date. */
function withAttribution(message: AiMessage, todos: readonly Todo[]): AiMessage {
  const attribution = attributionOf(message, todos);
  const { [ATTRIBUTION]: known, ...others } = message.additional_kwargs;
  if (JSON.stringify(known) === JSON.stringify(attribution)) return message;
  return { ...message, additional_kwargs: { ...others, [ATTRIBUTION]: attribution } };
}

function logUsage(message: AiMessage, run: RunContext): void {
  const used = ownUsageOf(message);
  if (used === undefined) return;
  const { input_tokens: inputTokens, output_tokens: outputTokens, total_tokens: totalTokens } = used;
  const model = message.response_metadata['model_name'];
  run.logger.info({ event: 'model.usage', model, inputTokens, outputTokens, totalTokens }, `${totalTokens} tokens`);
}

/**
 * The messages to replace in order to add the tokens of subagents: the messages that dispatched them, and the marked
 * results. One update contains both, so that the tokens are added once even after a takeover.
 */
function withSubagents(messages: readonly Message[]): readonly Message[] {
  const results = messages.filter(isUncounted);
  if (results.length === 0) return [];
  const dispatching = messages.filter((message): message is AiMessage => message.type === 'ai');
  return dispatching.flatMap((message): readonly Message[] => {
    const own = results.filter((result) => message.tool_calls.some(({ id }) => id === result.tool_call_id));
    if (own.length === 0) return [];
    const spent = own.map(subagentUsageOf).reduce<TokenCounts>((sum, next) => plus(sum, next ?? NOTHING), NOTHING);
    return [withSpent(message, spent), ...own.map(markAttributed)];
  });
}

const isUncounted = (message: Message): message is ToolMessage =>
  message.type === 'tool' && message.additional_kwargs[ATTRIBUTED] !== true && subagentUsageOf(message) !== undefined;

const markAttributed = (result: ToolMessage): ToolMessage => ({
  ...result,
  additional_kwargs: { ...result.additional_kwargs, [ATTRIBUTED]: true },
});

/** The tokens of subagents are also stored separately, as they are not part of the conversation's size. */
const withSpent = (message: AiMessage, spent: TokenCounts): AiMessage => ({
  ...message,
  usage_metadata: { ...message.usage_metadata, ...plus(message.usage_metadata ?? NOTHING, spent) },
  additional_kwargs: {
    ...message.additional_kwargs,
    [SUBAGENT_USAGE]: plus(subagentUsageOf(message) ?? NOTHING, spent),
  },
});

const NOTHING: TokenCounts = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };

const plus = (one: TokenCounts, other: TokenCounts): TokenCounts => ({
  input_tokens: one.input_tokens + other.input_tokens,
  output_tokens: one.output_tokens + other.output_tokens,
  total_tokens: one.total_tokens + other.total_tokens,
});
