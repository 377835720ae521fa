import { camelKeys, type Config } from '@caribou/config';
import type { AnyTool, ModelCatalog } from '@caribou/core';
import type { ChainOptions } from '@caribou/middleware';
import { retryOptions } from './model-call-options.js';
import type { RunSwitches } from './run-switches.js';

/** The part of the configuration that the chain is made from. */
export type ChainSettings = Pick<Config, 'chain' | 'title' | 'commandRules'>;

/** What a run brings to its chain. */
export interface RunParts {
  readonly switches: RunSwitches;
  /** For titles and summaries. */
  readonly models: ModelCatalog;
  /** The agent's own tools. */
  readonly tools: readonly AnyTool[];
}

function summarizationOptions(
  section: ChainSettings['chain']['summarization'],
  models: ModelCatalog,
): NonNullable<ChainOptions['summarization']> {
  const { enabled, trigger, keep, model_name: modelName } = section;
  return {
    enabled,
    trigger,
    keep,
    trimTokens: section.trim_tokens_to_summarize,
    prompt: section.summary_prompt,
    ...(modelName === null ? {} : { model: models.get(modelName) }),
  };
}

/**
 * What the configuration and a run's switches make of the chain.
 *
 * @throws {InvalidRequestError} when the configuration names a model that `models` does not have.
 */
export function chainOptions(config: ChainSettings, { switches, models, tools }: RunParts): ChainOptions {
  const { chain, title, commandRules } = config;
  const { enabled: filesOutput, ...limits } = chain.tool_output;
  return {
    inputSanitization: { ...chain.input_sanitization, trustSystem: chain.client_messages.trust_system },
    toolOutput: { enabled: filesOutput, limits: camelKeys(limits) },
    readBeforeWrite: chain.read_before_write,
    tokenUsage: chain.token_usage,
    ...(chain.tool_search.enabled
      ? { toolSearch: { tools, autoPromoteTopK: chain.tool_search.auto_promote_top_k } }
      : {}),
    clarification: { enabled: switches.clarification },
    vision: switches.vision,
    commands: commandRules,
    llmError: retryOptions(chain.llm_call),
    memory: chain.memory,
    planMode: switches.planMode,
    ...(switches.subagents ? { subagents: chain.subagents } : {}),
    loopDetection: chain.loop_detection,
    tokenBudget: chain.token_budget,
    safetyFinish: chain.safety_finish_reason,
    summarization: summarizationOptions(chain.summarization, models),
    title: {
      enabled: title.enabled,
      maxWords: title.maxWords,
      maxChars: title.maxChars,
      ...(title.modelName === null ? {} : { model: models.get(title.modelName) }),
    },
  };
}
