import { omitUndefined } from '@caribou/contracts';
import { goal } from '../goal/goal.js';
import type { ChainEntry, EntryOptions } from './chain-types.js';
import { findNamedModel, modelForOwnCalls } from './entry-parts.js';

export const goalEntry: ChainEntry = {
  name: 'goal',
  reason: 'anywhere: its hook, which no other has, is called when all others are done with the answer',
  leadOnly: true,
  disabledReason: whyNoGoals,
  create: (ports, options) => {
    const { goals = {} } = options.config;
    const { model = modelForOwnCalls(ports) } = findNamedModel(options, goals.model_name);
    return [goal({ model, ...omitUndefined({ timeoutMs: goals.timeout_ms }) })];
  },
};

function whyNoGoals({ config, temporary }: EntryOptions): string | undefined {
  if (config.goals?.enabled === false) return 'goals.enabled is false';
  return temporary === true ? 'the thread exists for this run only' : undefined;
}
