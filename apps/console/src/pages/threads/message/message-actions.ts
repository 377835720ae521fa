import type { Pricing } from '../state/cost.js';

/** What can be done with a message of a conversation. Each shows its failure in the page. */
export interface MessageActions {
  readonly regenerate: (messageId: string) => void;
  readonly branch: (messageId: string) => void;
  readonly edit: (messageId: string, text: string) => void;
  readonly rate: (runId: string, rating: 1 | -1 | 0) => void;
  /** The address of the page about a run. */
  readonly explainPath: (runId: string) => string;
  readonly showsTokens: boolean;
  /** The prices of the model that an answer names; undefined for none. */
  readonly pricingOf: (model: string | undefined) => Pricing | undefined;
}
