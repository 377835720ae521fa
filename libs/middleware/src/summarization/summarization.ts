import type { ChainConfig, ContextSize } from '@caribou/config';
import {
  type Message,
  type RemoveMessage,
  type StateUpdate,
  type ThreadContext,
  type ThreadState,
} from '@caribou/contracts';
import { type AgentMiddleware, type ModelPort, type RunContext, stateSlot, type Step } from '@caribou/core';
import { z } from 'zod';
import { type Answer, askModel } from '../model-calls/ask-model.js';
import { type ContextFill, isReached } from './context-size.js';
import { type Cut, cutMessages } from './summary-cut.js';
import { summaryTokens, withSummary } from './summary-projection.js';
import { summaryCall } from './summary-prompt.js';
import { contextTokens, estimateTextTokens, estimateTokens } from './token-estimate.js';

/** Section `summarization` of config.yaml; an existing summary is sent to the model even if `enabled` is false. */
export type SummarizationOptions = Partial<Omit<ChainConfig['summarization'], 'model_name'>>;

export interface SummarizationPorts {
  /** The model of the run: shares refer to its limit, and it is used when no other model can summarize. */
  model(run: RunContext): ModelPort;
  /** The model configured for summaries. */
  readonly summaryModel?: ModelPort;
  /** Timeout of each of at most two models; a minute when absent. */
  readonly timeoutMs?: number;
}

/** The defaults of DeerFlow's code. */
const DEFAULTS: Required<SummarizationOptions> = {
  enabled: false,
  trigger: null,
  keep: { type: 'messages', value: 20 },
  trim_tokens_to_summarize: 4000,
  summary_prompt: null,
};

const TIMEOUT_MS = 60_000;

/** Maximum UTF-16 units of a summary, in case a model does not stop. */
const MAX_SUMMARY_CHARS = 24_000;
/** Maximum characters of an answer, including reasoning. */
const MAX_ANSWER_CHARS = 200_000;
/** Number of new messages before a run retries a failed summary. */
const RETRY_AFTER_MESSAGES = 10;
/** Minimum share of the estimated conversation to remove, unless the number of messages is the trigger. */
const MIN_SHARE = 0.1;

const slot = stateSlot(
  'guards',
  'summarization',
  z.object({
    /** The newest message when messages were last removed; the usage of answers up to it includes the removed ones. */
    counted_after: z.string().optional(),
    /** The last failed summary: its run, and the number of messages at that time. */
    failed: z.object({ run_id: z.string(), messages: z.number() }).optional(),
  }),
);

/**
 * Replaces the older part of a long conversation by a summary. The summary is a channel of the thread, not a message:
 * each request contains it first, as data. It must precede what reads the context in `beforeModel`.
 *
 * S1 Messages are removed only in the update with their summary. When no model provides one, the thread is unchanged,
 *    and this run retries only after some more messages.
 * S2 The update is durable: its model call is made once, even if the runner dies afterwards.
 * S3 Messages are removed by id, so the remaining ones keep their identity and their position in the log.
 *
 * Memory: removed messages are not part of later states. Memory extraction must therefore read the thread's log from
 * its watermark, where they exist while a retained checkpoint refers to them, and not the newest state.
 */
export function summarization(options: SummarizationOptions, ports: SummarizationPorts): AgentMiddleware {
  const settings = withDefaults(options);
  return {
    name: 'summarization',
    async beforeModel(state, run) {
      if (!settings.enabled || isPaused(state, run)) return undefined;
      const model = ports.model(run);
      const fill = fillOf(state, model);
      const fired = triggersOf(settings).filter((size) => isReached(size, fill));
      if (fired.length === 0) return undefined;
      const cut = cutMessages(state.messages, settings.keep, model.maxInputTokens);
      if (!isWorthIt(cut, state, fired)) return undefined;
      const { trim_tokens_to_summarize: trimTokens, summary_prompt: prompt } = settings;
      const call = summaryCall({ trimTokens, prompt, existing: state.summary_text, messages: cut.removed });
      const answer = await firstAnswer(modelsOf(ports, model), (candidate) =>
        askModel(candidate, call, { run, timeoutMs: ports.timeoutMs ?? TIMEOUT_MS, maxChars: MAX_ANSWER_CHARS }),
      );
      return answer.text === ''
        ? skipSummary(state, run, answer.usage)
        : applySummary({ state, run, fill }, cut, answer);
    },
    wrapModelCall: (request, next) =>
      next({ ...request, messages: withSummary(request.messages, request.state.summary_text) }),
  };
}

export const withDefaults = (options: SummarizationOptions): Required<SummarizationOptions> => ({
  ...DEFAULTS,
  ...options,
});

export const triggersOf = ({ trigger }: Required<SummarizationOptions>): readonly ContextSize[] =>
  trigger === null ? [] : isList(trigger) ? trigger : [trigger];

const isList = (trigger: ContextSize | readonly ContextSize[]): trigger is readonly ContextSize[] =>
  Array.isArray(trigger);

function isPaused(state: ThreadState, run: RunContext): boolean {
  const failed = slot.read(state)?.failed;
  if (failed?.run_id !== run.runId) return false;
  const since = state.messages.length - failed.messages;
  return since >= 0 && since < RETRY_AFTER_MESSAGES;
}

export const fillOf = (
  { messages, summary_text, ...state }: ThreadState,
  { maxInputTokens }: ModelPort,
): ContextFill => ({
  messages: messages.length,
  tokens: contextTokens(messages, {
    additional: summaryTokens(summary_text) + noteTokens(state.thread_context),
    countedAfter: slot.read({ ...state, messages })?.counted_after,
  }),
  maxInputTokens,
});

/** Tokens that the context of the thread adds to each request. */
const noteTokens = (context: ThreadContext | undefined): number =>
  context === undefined
    ? 0
    : [context.text, ...context.notes.map(({ text }) => text)].reduce((sum, text) => sum + estimateTextTokens(text), 0);

/** Avoids a model call before each answer when only a few small messages could be removed. */
function isWorthIt({ removed }: Cut, state: ThreadState, fired: readonly ContextSize[]): boolean {
  if (removed.length === 0) return false;
  if (fired.some(({ type }) => type === 'messages')) return true;
  const conversation = estimateTokens(state.messages) + summaryTokens(state.summary_text);
  return estimateTokens(removed) >= MIN_SHARE * conversation;
}

const modelsOf = ({ summaryModel }: SummarizationPorts, own: ModelPort): readonly ModelPort[] =>
  summaryModel === undefined || summaryModel.name === own.name ? [own] : [summaryModel, own];

/** The first non-empty answer, else the last, with the usage of all calls. */
async function firstAnswer(models: readonly ModelPort[], ask: (model: ModelPort) => Promise<Answer>): Promise<Answer> {
  let answer: Answer = { text: '', usage: [] };
  for (const model of models) {
    const { text, usage } = await ask(model);
    answer = { text, usage: [...answer.usage, ...usage] };
    if (text !== '') break;
  }
  return answer;
}

function skipSummary(state: ThreadState, run: RunContext, usage: Answer['usage']): Step {
  const messages = state.messages.length;
  run.logger.warn({ count: messages }, 'the conversation could not be summarized and is unchanged');
  run.recordDecision('summarization', 'skipped', { messages });
  return { update: slot.write({ ...slot.read(state), failed: { run_id: run.runId, messages } }), usage };
}

interface Moment {
  readonly state: ThreadState;
  readonly run: RunContext;
  readonly fill: ContextFill;
}

function applySummary({ state, run, fill }: Moment, { removed, kept }: Cut, { text, usage }: Answer): Step {
  run.recordDecision('summarization', 'summarized', {
    removed: removed.length,
    kept: kept.length,
    tokens: fill.tokens,
  });
  return { update: summaryUpdate(state, { removed, kept }, text), durable: true, usage };
}

/** The update that removes the messages and sets the summary that covers them. */
export const summaryUpdate = (state: ThreadState, { removed }: Cut, text: string): StateUpdate => ({
  messages: removed.map(removalOf),
  summary_text: text.slice(0, MAX_SUMMARY_CHARS).replace(/[\ud800-\udbff]$/, ''),
  ...slot.write(toCountedAfter(state.messages)),
});

const removalOf = ({ id }: Message): RemoveMessage => ({ type: 'remove', id });

const toCountedAfter = (messages: readonly Message[]): { readonly counted_after?: string } => {
  const newest = messages.at(-1);
  return newest === undefined ? {} : { counted_after: newest.id };
};
