import { Counter, type Registry } from 'prom-client';

export interface BudgetMetrics {
  /** A run brought a budget of the day over the share for warnings, or found one used up and ends. */
  budgetReached(state: 'warned' | 'spent'): void;
}

export function addBudgetMetrics(registry: Registry): BudgetMetrics {
  const budgets = new Counter({
    name: 'caribou_budget_reached_total',
    help: 'Runs that neared a budget of the day, or were ended by it',
    labelNames: ['state'],
    registers: [registry],
  });
  return {
    budgetReached: (state) => {
      budgets.inc({ state });
    },
  };
}
