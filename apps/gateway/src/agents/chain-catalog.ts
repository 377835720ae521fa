import { chainOptions, type ChainSettings, switchesOf } from '@caribou/agent';
import type { ChainReply, RunContextValues } from '@caribou/contracts';
import type { ModelCatalog } from '@caribou/core';
import { describeChain } from '@caribou/middleware';

export interface ChainCatalog {
  /**
   * Describes the middleware chain of a run with these switches.
   *
   * @throws {InvalidRequestError} for an unknown model
   */
  describe(context: RunContextValues): Omit<ChainReply, 'agent'>;
}

/** Describes middleware chains from the same configuration and code that the agent-runners build them from. */
export const chainCatalog = (settings: ChainSettings, models: ModelCatalog): ChainCatalog => ({
  describe: (context) => {
    const model = models.get(context.model_name);
    const switches = switchesOf(context, settings.chain, model);
    // A gateway does not load the operator's code, so it shows only how many custom middlewares there are.
    const custom = settings.chain.extensions.middlewares.map(() => ({ name: 'custom' }));
    const options = { ...chainOptions(settings, { switches, models, tools: [] }), custom };
    const { token_budget: ofTasks } = settings.chain.subagents;
    const taskOptions = { ...options, config: { ...options.config, token_budget: ofTasks } };
    return {
      switches: {
        model_name: model.name,
        vision: switches.vision,
        is_plan_mode: switches.planMode,
        subagent_enabled: switches.subagents,
        max_concurrent_subagents: switches.maxConcurrentSubagents,
        max_total_subagents: switches.maxTotalSubagents,
        clarification: switches.clarification,
      },
      middlewares: [...describeChain('lead', options)],
      subagent_middlewares: [...describeChain('subagent', taskOptions)],
    };
  },
});
