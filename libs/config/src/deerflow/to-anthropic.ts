import { isRecord, omitUndefined } from '@caribou/contracts';
import type { z } from 'zod';
import { traitsOfModel } from '../common/claude-models.js';
import type { Findings } from '../common/findings.js';
import type { ModelFile } from '../schema/model-schema.js';
import type { AnthropicConfig, AnthropicTraits } from '../common/anthropic-config.js';

type Fields = Readonly<Record<string, unknown>>;

interface AnthropicEntry {
  readonly entry: z.output<typeof ModelFile>;
  /** Further keys of the entry. */
  readonly extras: Fields;
  /** Path of the entry, for notices. */
  readonly key: string;
  readonly whenThinkingEnabled: Fields | undefined;
  readonly findings: Findings;
}

/** Options of DeerFlow's ClaudeChatModel that are no fields of a request. */
const OWN_OPTIONS = ['enable_prompt_caching', 'auto_thinking_budget'];

const SAMPLING = ['temperature', 'top_p', 'top_k'];

/** The options of a model with the protocol `messages`, and its further fields of requests. */
export function toAnthropic(read: AnthropicEntry): { readonly anthropic: AnthropicConfig; readonly extras: Fields } {
  const { entry, extras } = read;
  const traits = { ...traitsOfModel(entry.model ?? entry.name), ...chosenTraits(read) };
  noticeUnsent(read, traits);
  const options = entry.anthropic;
  return {
    anthropic: {
      ...traits,
      promptCaching: options?.prompt_caching ?? extras['enable_prompt_caching'] !== false,
      cacheTtl: options?.cache_ttl ?? '5m',
      ...omitUndefined({ thinkingBudgetTokens: options?.thinking_budget }),
    },
    extras: Object.fromEntries(Object.entries(extras).filter(([name]) => !OWN_OPTIONS.includes(name))),
  };
}

/** What the entry says about the model. Claude 4.6 has both styles of thinking: an entry with a budget gets it. */
function chosenTraits({ entry, whenThinkingEnabled }: AnthropicEntry): Partial<AnthropicTraits> {
  const { anthropic: options = { cache_ttl: '5m' } } = entry;
  const hasBothStyles = /claude-(opus|sonnet)-4[.-]6(?!\d)/.test(entry.model ?? entry.name);
  return omitUndefined({
    thinking: options.thinking ?? (hasBothStyles && hasBudget(whenThinkingEnabled) ? 'budget' : undefined),
    thinkingOff: options.thinking_off,
    bindsThinking: options.bound_thinking,
    sampling: options.sampling,
    effort: options.effort,
    systemMessages: options.system_messages,
  } as const);
}

const hasBudget = (fields: Fields | undefined): boolean =>
  isRecord(fields?.['thinking']) && fields['thinking']['type'] === 'enabled';

function noticeUnsent(
  { entry, extras, key, whenThinkingEnabled, findings }: AnthropicEntry,
  traits: AnthropicTraits,
): void {
  const model = entry.model ?? entry.name;
  if (hasBudget(whenThinkingEnabled) && traits.thinking === 'adaptive') {
    findings.notices.push(
      `${key}: ${model} decides itself how much it thinks: thinking is sent as {type: adaptive}, without budget_tokens; effort sets how much it thinks (anthropic.thinking: budget sends the budget)`,
    );
  }
  const given = { ...extras, ...entry.extra_body, ...omitUndefined({ temperature: entry.temperature }) };
  const unsent = traits.sampling ? [] : SAMPLING.filter((name) => name in given);
  if (unsent.length > 0) {
    findings.notices.push(
      `${key}: ${unsent.join(', ')} are not sent, as ${model} refuses them (anthropic.sampling: true sends them)`,
    );
  }
}
