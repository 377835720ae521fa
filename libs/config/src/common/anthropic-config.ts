/** Levels of `output_config.effort`, from the least. */
export const effortLevels = ['low', 'medium', 'high', 'xhigh', 'max'] as const;
export type EffortLevel = (typeof effortLevels)[number];

export const cacheTtls = ['5m', '1h'] as const;
export const thinkingStyles = ['adaptive', 'budget'] as const;
export const thinkingOffStyles = ['omit', 'disabled', 'between_tools', 'always_on'] as const;

/** What a model behind Anthropic's messages protocol accepts. */
export interface AnthropicTraits {
  /** How thinking is switched on: `{type: adaptive}`, or `{type: enabled, budget_tokens}`. */
  readonly thinking: (typeof thinkingStyles)[number];
  /** How it is switched off: without the field, by a type of it, or not at all. */
  readonly thinkingOff: (typeof thinkingOffStyles)[number];
  /** Thoughts are empty unless their summary is requested (`display`). */
  readonly hidesThinking: boolean;
  /** Thinking between tool calls needs a beta header. */
  readonly needsInterleavedHeader: boolean;
  /** Thoughts are valid only behind an unchanged prefix, and requests may ask to drop others (`block_binding`). */
  readonly bindsThinking: boolean;
  /** The model accepts `temperature`, `top_p` and `top_k`. */
  readonly sampling: boolean;
  /** Accepted levels of `output_config.effort`; none when the field is refused. */
  readonly effort: readonly EffortLevel[];
  /** Messages with the role `system` may follow those of users. */
  readonly systemMessages: boolean;
  /** `max_tokens` of a model without a configured one, as the field is required. */
  readonly defaultMaxTokens: number;
}

/** Options of a model with the protocol `messages`. */
export interface AnthropicConfig extends AnthropicTraits {
  /** Requests have breakpoints for the provider's cache. */
  readonly promptCaching: boolean;
  readonly cacheTtl: (typeof cacheTtls)[number];
  /** Default: four fifths of `max_tokens`. */
  readonly thinkingBudgetTokens?: number;
}
