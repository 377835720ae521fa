import { type AnthropicTraits, type EffortLevel, effortLevels } from './anthropic-config.js';

/** A family with its version as a number: 4.6 is 406. */
interface Generation {
  readonly family: string;
  readonly version: number;
}

/** The last generation with rules of its own; later and unnumbered models are expected to have the same ones. */
const NEWEST = 505;

/**
 * What a model accepts, by its name. The rules are those of the pages "Thinking", "Effort", "Preserved thinking", "Mid-conversation
 * system messages" and "What's new" of Claude Opus 4.7 to Haiku 5.5, platform.claude.com, November 2026. Models of other vendors
 * behind the same protocol are expected to have the features of its first years.
 */
export function traitsOfModel(model: string): AnthropicTraits {
  const generation = generationOf(model);
  if (generation === undefined) return OTHER_VENDOR;
  const { family, version } = generation;
  return {
    thinking: version >= 406 ? 'adaptive' : 'budget',
    thinkingOff: thinkingOffOf(generation),
    hidesThinking: version >= 407,
    needsInterleavedHeader: version >= 400 && version < 406,
    bindsThinking: version >= 501,
    sampling: version < 407,
    effort: effortOf(generation),
    systemMessages: version >= 408,
    defaultMaxTokens: maxTokensOf(family, version),
  };
}

const OTHER_VENDOR: AnthropicTraits = {
  thinking: 'budget',
  thinkingOff: 'disabled',
  hidesThinking: false,
  needsInterleavedHeader: false,
  bindsThinking: false,
  sampling: true,
  effort: [],
  systemMessages: false,
  defaultMaxTokens: 16_384,
};

/** Parses names such as claude-opus-4-6, anthropic/claude-sonnet-4.5, claude-3-7-sonnet-20250219; undefined for other vendors. */
function generationOf(model: string): Generation | undefined {
  const name = model.toLowerCase();
  if (!name.includes('claude')) return undefined;
  if (name.includes('mythos-preview')) return { family: 'mythos', version: 407 };
  const [, family = '', major, minor = '0'] =
    /claude-(opus|sonnet|haiku|fable|mythos)-(\d{1,2})(?:[.-](\d{1,2}))?(?!\d)/.exec(name) ?? [];
  if (major !== undefined) return { family, version: Number(major) * 100 + Number(minor) };
  const [, first, second = '0', old = ''] = /claude-(\d)(?:[.-](\d))?-?(opus|sonnet|haiku)?/.exec(name) ?? [];
  if (first !== undefined) return { family: old, version: Number(first) * 100 + Number(second) };
  return { family: '', version: NEWEST };
}

function thinkingOffOf({ family, version }: Generation): AnthropicTraits['thinkingOff'] {
  if (family === 'fable' || family === 'mythos' || family === '') return version < 400 ? 'omit' : 'always_on';
  if (version < 500) return 'omit';
  if (family === 'haiku' || version < NEWEST) return 'disabled';
  return family === 'sonnet' ? 'between_tools' : 'always_on';
}

function effortOf({ family, version }: Generation): readonly EffortLevel[] {
  if (version >= 407) return effortLevels;
  if (version === 406) return ['low', 'medium', 'high', 'max'];
  return family === 'opus' && version === 405 ? ['low', 'medium', 'high'] : [];
}

/** At most the longest output of the model; thoughts are part of it. */
function maxTokensOf(family: string, version: number): number {
  if (version >= 500) return 64_000;
  if (version >= 307) return 32_000;
  return version === 305 && family !== 'opus' ? 8_192 : 4_096;
}
