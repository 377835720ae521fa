import { Controller } from '@nestjs/common';
import { budgetRoutes, type BudgetsReply, type RouteInput } from '@caribou/contracts';
import type { BudgetUse } from '@caribou/state';
import { Dependency } from '../dependency.js';
import type { Dependencies } from '../dependencies.js';
import { API_ROOTS, Input, Route } from '../http/route.decorators.js';
import type { GatewaySettings } from '../settings.js';

/** The ledger counts in billionths of the currency. */
const NANO = 1e9;

@Controller(API_ROOTS)
export class BudgetsController {
  constructor(
    @Dependency('dayUse') private readonly dayUse: Dependencies['dayUse'],
    @Dependency('settings') private readonly settings: Pick<GatewaySettings, 'models' | 'budgets'>,
  ) {}

  @Route(budgetRoutes.get)
  async get(@Input() { query }: RouteInput<typeof budgetRoutes.get>): Promise<BudgetsReply> {
    const { models, budgets } = this.settings;
    const use = await this.dayUse(query.limit);
    return {
      day: use.day,
      currency: models.find(({ pricing }) => pricing !== undefined)?.pricing?.currency ?? null,
      user_budget_per_day: budgets.user,
      key_budget_per_day: budgets.key,
      warn_share: budgets.warnShare,
      users: use.users,
      cost: use.cost / NANO,
      top_users: use.topUsers.map((one) => useJson(one, budgets.user)),
      top_keys: use.topKeys.map((one) => useJson(one, budgets.key)),
    };
  }
}

/** The share of a budget of 0 is 1: it is used up before the first call. */
const useJson = ({ name, cost }: BudgetUse, budget: number | null): BudgetsReply['top_users'][number] => ({
  name,
  cost: cost / NANO,
  share: budget === null ? null : budget === 0 ? 1 : cost / NANO / budget,
});
