import type { ContextSize } from '@caribou/config';
import type { Message, StateUpdate, ThreadState } from '@caribou/contracts';
import type { ModelCall, ModelPort } from '@caribou/core';
import { isReached } from './context-size.js';
import { type Cut, cutMessages } from './summary-cut.js';
import { summaryTokens } from './summary-projection.js';
import { summaryCall } from './summary-prompt.js';
import { fillOf, type SummarizationOptions, summaryUpdate, triggersOf, withDefaults } from './summarization.js';
import { estimateTokens } from './token-estimate.js';

/** A summary that somebody asks for, outside of a run. */
export interface CompactionRequest {
  /** Whether it is made although no trigger is reached. */
  readonly force: boolean;
  /** The part that stays; absent: as configured. */
  readonly keep?: ContextSize;
}

export type Compaction =
  | { readonly kind: 'none'; readonly reason: 'not_enough_messages' | 'below_threshold' }
  | { readonly kind: 'summary'; readonly cut: Cut; readonly call: ModelCall };

/** What to remove from a conversation, and the call that summarizes it; pure. */
export function planCompaction(
  state: ThreadState,
  options: SummarizationOptions,
  { request: { force, keep }, model }: { readonly request: CompactionRequest; readonly model: ModelPort },
): Compaction {
  const settings = withDefaults(options);
  const fill = fillOf(state, model);
  if (!force && !triggersOf(settings).some((size) => isReached(size, fill)))
    return { kind: 'none', reason: 'below_threshold' };
  const cut = cutMessages(state.messages, keep ?? settings.keep, model.maxInputTokens);
  if (cut.removed.length === 0) return { kind: 'none', reason: 'not_enough_messages' };
  const { trim_tokens_to_summarize: trimTokens, summary_prompt: prompt } = settings;
  return {
    kind: 'summary',
    cut,
    call: summaryCall({ trimTokens, prompt, existing: state.summary_text, messages: cut.removed }),
  };
}

/** The update that puts the summary in the place of the messages that it covers; as that of a run. */
export const compactionUpdate = (state: ThreadState, cut: Cut, text: string): StateUpdate =>
  summaryUpdate(state, cut, text);

/** Estimated tokens of a conversation with its summary. */
export const conversationTokens = (messages: readonly Message[], summary: string | undefined): number =>
  estimateTokens(messages) + summaryTokens(summary);
