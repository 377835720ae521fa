import type { ModelPricing } from '@caribou/config';
import type { CallUsage } from '@caribou/core';

/** What is counted of model calls; `cost` in billionths of the currency, so that sums are whole numbers. */
export interface LedgerCounts {
  readonly calls: number;
  readonly input_tokens: number;
  readonly cached_input_tokens: number;
  readonly cache_write_tokens: number;
  readonly output_tokens: number;
  readonly reasoning_tokens: number;
  readonly cost: number;
}

/** Prices by the configured name of the model. */
export type Prices = ReadonlyMap<string, ModelPricing>;

/** `warn`: this write brought a budget over its share for warnings. `spent`: a budget is used up. */
export type BudgetState = 'fine' | 'warn' | 'spent';

/** Who pays for a model call. */
export interface Payer {
  readonly userId: string;
  /** Id of the API key of the request; absent for other senders. */
  readonly apiKey?: string | undefined;
  /** The thread that the call is about. Once it is deleted nothing is entered, so that an erased user has no usage. */
  readonly threadId?: string;
}

/** The usage of a day (UTC, `YYYY-MM-DD`) by one user, API key ('' for none), agent and model. */
export interface LedgerRow extends LedgerCounts {
  readonly day: string;
  readonly userId: string;
  readonly apiKey: string;
  readonly agent: string;
  readonly model: string;
}

/** Usage of models by user and day. Runs and tasks enter theirs with each commit, in the store of runs. */
export interface UsageLedger {
  /** Enters calls that belong to no run. A repetition counts again: each was paid for. */
  add(payer: Payer, agent: string, calls: readonly CallUsage[]): Promise<BudgetState>;
  /** Removes all usage of a user whose threads were removed. */
  eraseUser(userId: string): Promise<void>;
  /** Whether a budget of today is used up. */
  isSpent(payer: Payer): Promise<boolean>;
  /**
   * The rows of some days, of one user or of all.
   *
   * @throws {InvalidRequestError} when all users together have too many days
   */
  read(days: readonly string[], userId?: string): Promise<readonly LedgerRow[]>;
}
