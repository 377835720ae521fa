import type { ChainConfig, ContextSize } from '@caribou/config';
import type { Message, RemoveMessage, StateUpdate, ThreadState } from '@caribou/contracts';
import {
  type AgentMiddleware,
  type CallUsage,
  type ModelPort,
  type RunContext,
  stateSlot,
  type Step,
} from '@caribou/core';
import { z } from 'zod';
import { type Answer, askModel } from '../model-calls/ask-model.js';
import { type ContextFill, isReached } from './context-size.js';
import { type Cut, cutMessages } from './summary-cut.js';
import { summaryTokens, withSummary } from './summary-projection.js';
import { summaryCall } from './summary-prompt.js';
import { contextTokens, estimateTokens } from './token-estimate.js';

/** Section `summarization` of config.yaml; the summary is shown to the model also when `enabled` is false. */
export type SummarizationOptions = Partial<Omit<ChainConfig['summarization'], 'model_name'>>;

export interface SummarizationPorts {
  /** The model of the run: its limit is what shares refer to, and it summarizes when no other does. */
  model(run: RunContext): ModelPort;
  /** The model configured for summaries. */
  readonly summaryModel?: ModelPort;
  /** Longest wait for a model, of which two may be asked; a minute when absent. */
  readonly timeoutMs?: number;
}

/** Without settings, as DeerFlow's code has them. */
const DEFAULTS: Required<SummarizationOptions> = {
  enabled: false,
  trigger: null,
  keep: { type: 'messages', value: 20 },
  trim_tokens_to_summarize: 4000,
  summary_prompt: null,
};

const TIMEOUT_MS = 60_000;

/** UTF-16 units kept of a summary: what bounds the channel when a model does not stop. */
const MAX_SUMMARY_CHARS = 24_000;
/** Read of an answer, thinking included. */
const MAX_ANSWER_CHARS = 200_000;
/** Messages that must come before a run asks again for a summary that could not be made. */
const RETRY_AFTER_MESSAGES = 10;
/** Of the estimated conversation that must go for a call to be worth it, unless the number of messages is the trigger. */
const MIN_SHARE = 0.1;

const slot = stateSlot(
  'guards',
  'summarization',
  z.object({
    /** The newest message when messages were last taken out: answers up to it were counted with these. */
    counted_after: z.string().optional(),
    /** The last summary that could not be made: in which run, with how many messages in the thread. */
    failed: z.object({ run_id: z.string(), messages: z.number() }).optional(),
  }),
);

/**
 * Replaces the older part of a long conversation by a summary. The summary is a channel of the thread, not a message:
 * each request shows it in front as data. Put it before what reads the context in `beforeModel`.
 *
 * S1 Messages go only in the update that brings their summary. When no model gives one, the thread stays as it is, and
 *    this run asks again only after some more messages.
 * S2 The update is durable: the call it cost is made once, also when the runner dies behind it.
 * S3 Messages are taken out by id, so the ones that stay keep their identity and their place in the log.
 *
 * Memory: removed messages are no part of later states. What learns from conversations must read the thread's log from
 * its watermark, where they stay while a kept checkpoint shows them, and not the messages of the newest state.
 */
export function summarization(options: SummarizationOptions, ports: SummarizationPorts): AgentMiddleware {
  const settings = { ...DEFAULTS, ...options };
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
      return answer.text === '' ? skipped(state, run, answer.usage) : summarized({ state, run, fill }, cut, answer);
    },
    wrapModelCall: (request, next) =>
      next({ ...request, messages: withSummary(request.messages, request.state.summary_text) }),
  };
}

const triggersOf = ({ trigger }: Required<SummarizationOptions>): readonly ContextSize[] =>
  trigger === null ? [] : isList(trigger) ? trigger : [trigger];

const isList = (trigger: ContextSize | readonly ContextSize[]): trigger is readonly ContextSize[] =>
  Array.isArray(trigger);

function isPaused(state: ThreadState, run: RunContext): boolean {
  const failed = slot.read(state)?.failed;
  if (failed?.run_id !== run.runId) return false;
  const since = state.messages.length - failed.messages;
  return since >= 0 && since < RETRY_AFTER_MESSAGES;
}

const fillOf = ({ messages, summary_text, ...state }: ThreadState, { maxInputTokens }: ModelPort): ContextFill => ({
  messages: messages.length,
  tokens: contextTokens(messages, {
    beside: summaryTokens(summary_text),
    countedAfter: slot.read({ ...state, messages })?.counted_after,
  }),
  maxInputTokens,
});

/** A few small messages behind one that must stay and is itself too much would cost a call before each answer. */
function isWorthIt({ removed }: Cut, state: ThreadState, fired: readonly ContextSize[]): boolean {
  if (removed.length === 0) return false;
  if (fired.some(({ type }) => type === 'messages')) return true;
  const conversation = estimateTokens(state.messages) + summaryTokens(state.summary_text);
  return estimateTokens(removed) >= MIN_SHARE * conversation;
}

const modelsOf = ({ summaryModel }: SummarizationPorts, own: ModelPort): readonly ModelPort[] =>
  summaryModel === undefined || summaryModel.name === own.name ? [own] : [summaryModel, own];

/** The first answer that says something, else the last; its usage is that of the last call that told. */
async function firstAnswer(models: readonly ModelPort[], ask: (model: ModelPort) => Promise<Answer>): Promise<Answer> {
  let answer: Answer = { text: '' };
  for (const model of models) {
    answer = { ...answer, ...(await ask(model)) };
    if (answer.text !== '') break;
  }
  return answer;
}

const usageOf = (usage: CallUsage | undefined): Pick<Step, 'usage'> => (usage === undefined ? {} : { usage });

function skipped(state: ThreadState, run: RunContext, usage: CallUsage | undefined): Step {
  const messages = state.messages.length;
  run.logger.warn({ count: messages }, 'the conversation could not be summarized and stays as it is');
  run.decided('summarization', 'skipped', { messages });
  return { update: slot.write({ ...slot.read(state), failed: { run_id: run.runId, messages } }), ...usageOf(usage) };
}

interface Moment {
  readonly state: ThreadState;
  readonly run: RunContext;
  readonly fill: ContextFill;
}

function summarized({ state, run, fill }: Moment, { removed, kept }: Cut, { text, usage }: Answer): Step {
  run.decided('summarization', 'summarized', { removed: removed.length, kept: kept.length, tokens: fill.tokens });
  const update: StateUpdate = {
    messages: removed.map(removalOf),
    summary_text: text.slice(0, MAX_SUMMARY_CHARS).replace(/[\ud800-\udbff]$/, ''),
    ...slot.write(borderOf(state.messages)),
  };
  return { update, durable: true, ...usageOf(usage) };
}

const removalOf = ({ id }: Message): RemoveMessage => ({ type: 'remove', id });

const borderOf = (messages: readonly Message[]): { readonly counted_after?: string } => {
  const newest = messages.at(-1);
  return newest === undefined ? {} : { counted_after: newest.id };
};
