import type { TokenUsageReply } from '@caribou/contracts';
import { costOf } from '@caribou/core';
import type { ThreadUsage } from '@caribou/state';
import type { GatewaySettings } from '../settings.js';

type PricedModel = Pick<GatewaySettings['models'][number], 'name' | 'pricing'>;

/**
 * What the model calls of a thread cost by the prices of now, in whole and by model. The whole is null when no model that was
 * used has prices, or when the parts of some tokens are not known that may have a price.
 */
export function costOfThread(
  used: ThreadUsage['models'],
  models: readonly PricedModel[],
): Pick<TokenUsageReply, 'by_model' | 'cost' | 'currency'> {
  const configured = new Map(models.map((model) => [model.name, model]));
  const entries = Object.entries(used).map(([name, { tokens, runs, parts }]) => {
    const model = configured.get(name);
    const prices = model?.pricing;
    const cost = prices === undefined || parts === undefined ? null : rounded(costOf(parts, prices));
    const isUnknown = parts === undefined && (model === undefined || prices !== undefined);
    return { name, shown: { tokens, runs, cost }, isUnknown };
  });
  const currency = models.find(({ pricing }) => pricing !== undefined)?.pricing?.currency ?? null;
  const costs = entries.flatMap(({ shown: { cost } }) => (cost === null ? [] : [cost]));
  const isKnown = currency !== null && !entries.some(({ isUnknown }) => isUnknown);
  return {
    by_model: Object.fromEntries(entries.map(({ name, shown }) => [name, shown])),
    cost: isKnown && (costs.length > 0 || entries.length === 0) ? rounded(sumOf(costs) * 1e6) : null,
    currency,
  };
}

/** Millionths as an amount of the currency, in whole billionths as the ledger counts them. */
const rounded = (millionths: number): number => Math.round(millionths * 1_000) / 1e9;

const sumOf = (costs: readonly number[]): number => costs.reduce((sum, cost) => sum + cost, 0);
