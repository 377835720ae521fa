/** The forms of `thinking` that a request can ask for. */
export type ThinkingType = 'enabled' | 'adaptive' | 'disabled' | 'between_tools';

/** Effort levels from least to most. */
export const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

/** What one model accepts and how it answers, as the vendor's pages of models, thinking and caching say. */
export interface ModelProfile {
  readonly thinking: readonly ThinkingType[];
  /** Whether it thinks when the request has no `thinking`. */
  readonly thinksByDefault: boolean;
  /** Whether the text of thinking blocks is left out unless `display` asks for it. */
  readonly omitsThinking: boolean;
  /** Whether `tool_choice` may be `any` or `tool`; with manual thinking it never may. */
  readonly forcedTools: boolean;
  /** Whether temperature, top_p and top_k may differ from their defaults. */
  readonly sampling: boolean;
  /** Whether the last message may be an assistant's that the model continues. */
  readonly prefill: boolean;
  /** Whether a message may have the role `system`. */
  readonly systemMessages: boolean;
  /** Whether thinking blocks are only valid behind the conversation that they were made in. */
  readonly prefixCheck: boolean;
  /** The efforts of `output_config`; none: the parameter is refused. */
  readonly efforts: readonly Effort[];
  /** The highest effort with which `thinking: disabled` is accepted. */
  readonly disabledUpTo: Effort;
  /** Tokens below which nothing is cached. */
  readonly minCacheTokens: number;
}

const ALL_EFFORTS = EFFORTS;
const BEFORE_XHIGH: readonly Effort[] = ['low', 'medium', 'high', 'max'];

const manual: ModelProfile = {
  thinking: ['enabled', 'disabled'],
  thinksByDefault: false,
  omitsThinking: false,
  forcedTools: true,
  sampling: true,
  prefill: true,
  systemMessages: false,
  prefixCheck: false,
  efforts: [],
  disabledUpTo: 'max',
  minCacheTokens: 4096,
};
const v46: ModelProfile = {
  ...manual,
  thinking: ['enabled', 'adaptive', 'disabled'],
  prefill: false,
  efforts: BEFORE_XHIGH,
};
const v47: ModelProfile = {
  ...v46,
  thinking: ['adaptive', 'disabled'],
  omitsThinking: true,
  sampling: false,
  efforts: ALL_EFFORTS,
  minCacheTokens: 2048,
};
const v5: ModelProfile = { ...v47, thinksByDefault: true, systemMessages: true, minCacheTokens: 512 };
const alwaysThinking: ModelProfile = { ...v5, thinking: ['adaptive'] };
/** Preserved thinking: Claude Fable 5.1 and everything after it. */
const preserved: ModelProfile = { ...alwaysThinking, forcedTools: false, prefixCheck: true };

const profiles: Readonly<Record<string, ModelProfile>> = {
  'claude-haiku-4-5': manual,
  'claude-sonnet-4-5': { ...manual, minCacheTokens: 1024 },
  'claude-opus-4-5': { ...manual, efforts: ['low', 'medium', 'high'] },
  'claude-sonnet-4-6': { ...v46, minCacheTokens: 1024 },
  'claude-opus-4-6': v46,
  'claude-opus-4-7': v47,
  'claude-opus-4-8': { ...v47, systemMessages: true, minCacheTokens: 1024 },
  'claude-sonnet-5': { ...v5, minCacheTokens: 1024 },
  'claude-opus-5': { ...v5, disabledUpTo: 'high' },
  'claude-fable-5': alwaysThinking,
  'claude-mythos-5': alwaysThinking,
  'claude-fable-5-1': preserved,
  'claude-mythos-5-1': { ...preserved, prefixCheck: false },
  'claude-fable-5-2': preserved,
  'claude-mythos-5-2': preserved,
  'claude-opus-5-5': preserved,
  'claude-sonnet-5-5': { ...preserved, thinking: ['adaptive', 'between_tools'] },
  'claude-haiku-5-5': { ...preserved, thinking: ['adaptive', 'disabled'], disabledUpTo: 'high' },
};

/** The profile of a model id, with or without its date; a model that we do not know is taken for one of the newest, which accept least. */
export function profileOf(model: string): ModelProfile {
  return profiles[model.replace(/-\d{8}$/, '')] ?? preserved;
}

/**
 * Whether `reader` may read thinking blocks that `producer` made. Blocks that it may not read are dropped without an error.
 * Models before preserved thinking read each other's; those with it read their own and those of models before it. Every model reads
 * those of Haiku 5.5, which reads none but its own, and Fable reads those of Opus 5.5.
 */
export function readsThinkingOf(reader: string, producer: string): boolean {
  if (reader === producer || producer === 'claude-haiku-5-5') return true;
  if (reader === 'claude-haiku-5-5') return false;
  if (!hasPreservedThinking(producer)) return true;
  return producer === 'claude-opus-5-5' && reader.startsWith('claude-fable-5-');
}

const hasPreservedThinking = (model: string): boolean => !profileOf(model).forcedTools;
