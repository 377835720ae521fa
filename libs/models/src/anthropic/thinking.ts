import type { AnthropicConfig, ModelConfig } from '@caribou/config';
import { InvalidRequestError, isRecord, omitUndefined } from '@caribou/contracts';
import type { ModelCall } from '@caribou/core';
import { flattenExtras } from '../http/thinking-fields.js';
import type { Thinking } from './request-types.js';

type Fields = Readonly<Record<string, unknown>>;

export interface ThinkingSwitch {
  /** Whether the answer may have thoughts, so that those of earlier answers are sent. */
  readonly thinks: boolean;
  /** The field `thinking`, unless it is left out. */
  readonly thinking?: Thinking | Fields;
  /** Further fields of the body. */
  readonly fields: Fields;
}

/** The least `budget_tokens`. */
const MIN_BUDGET = 1024;
/** Share of `max_tokens` that thoughts may have. */
const BUDGET_SHARE = 0.8;

/**
 * Thinking of a call, in the form that the model accepts: `adaptive`, or a budget below `max_tokens`; switched off by leaving the
 * field out, by `disabled` or `between_tools`, or not at all (pages "Thinking" and "What's new", platform.claude.com, November 2026).
 *
 * @throws {InvalidRequestError} when thinking is requested of a model that has the switch but does not support it
 */
export function thinkingOf(
  model: ModelConfig,
  options: AnthropicConfig,
  call: Pick<ModelCall, 'thinkingEnabled'>,
  maxTokens: number,
): ThinkingSwitch {
  const on = call.thinkingEnabled === true;
  if (on && model.supportsThinking) return switchOn(flattenExtras(model.whenThinkingEnabled ?? {}), options, maxTokens);
  if (on && model.whenThinkingEnabled !== undefined) {
    throw new InvalidRequestError(
      `model "${model.name}" does not support thinking: set supports_thinking in its configuration`,
    );
  }
  return switchOff(model, options);
}

function switchOn(
  { thinking: configured, ...fields }: Fields,
  options: AnthropicConfig,
  maxTokens: number,
): ThinkingSwitch {
  const given: Fields = isRecord(configured) ? configured : {};
  const shown = given['display'] ?? (options.hidesThinking ? 'summarized' : undefined);
  const common = omitUndefined({
    display: shown === 'summarized' || shown === 'omitted' ? shown : undefined,
    block_binding: bindingOf(options),
  });
  if (options.thinking === 'adaptive') return { thinks: true, thinking: { type: 'adaptive', ...common }, fields };
  const { budget_tokens: configuredBudget } = given;
  const wanted =
    typeof configuredBudget === 'number'
      ? configuredBudget
      : (options.thinkingBudgetTokens ?? Math.max(MIN_BUDGET, Math.floor(maxTokens * BUDGET_SHARE)));
  const budget = Math.min(wanted, maxTokens - 1);
  if (budget < MIN_BUDGET) return { thinks: false, fields };
  return { thinks: true, thinking: { type: 'enabled', budget_tokens: budget, ...common }, fields };
}

function switchOff(model: ModelConfig, options: AnthropicConfig): ThinkingSwitch {
  if (model.whenThinkingDisabled !== undefined) {
    const { thinking, ...fields } = flattenExtras(model.whenThinkingDisabled);
    return { thinks: false, fields, ...(isRecord(thinking) ? { thinking } : {}) };
  }
  if (options.thinkingOff === 'always_on') {
    return {
      thinks: true,
      thinking: { type: 'adaptive', ...omitUndefined({ block_binding: bindingOf(options) }) },
      fields: {},
    };
  }
  const isKnown = model.supportsThinking || model.whenThinkingEnabled !== undefined;
  if (options.thinkingOff === 'omit' || (!isKnown && options.thinking === 'budget'))
    return { thinks: false, fields: {} };
  return { thinks: false, thinking: { type: options.thinkingOff }, fields: {} };
}

/** Thoughts behind a prefix that has changed, as after a summary, are dropped: by default the request would be refused. */
const bindingOf = ({ bindsThinking }: AnthropicConfig) =>
  bindsThinking ? ({ prefix_mismatch_behavior: 'drop_block' } as const) : undefined;
