import { chainOptions, type ChainSettings, switchesOf } from '@caribou/agent';
import type { ChainReply, RunContextValues } from '@caribou/contracts';
import type { ModelCatalog } from '@caribou/core';
import { describeChain } from '@caribou/middleware';

export interface ChainCatalog {
  /**
   * The chain that a run with these switches gets.
   *
   * @throws {InvalidRequestError} for an unknown model
   */
  describe(context: RunContextValues): Omit<ChainReply, 'agent'>;
}

/** Chains as the agent-runners make them, from the same configuration and code. */
export const chainCatalog = (settings: ChainSettings, models: ModelCatalog): ChainCatalog => ({
  describe: (context) => {
    const model = models.get(context.model_name);
    const switches = switchesOf(context, settings.chain, model);
    // A gateway loads no code of the operator's: that there is some is all it tells.
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
