import { ApprovalTerms } from '@caribou/contracts';
import { type AgentMiddleware, memoize } from '@caribou/core';
import type { ChainPorts, EntryOptions } from './chain-types.js';
import { approvalRequest } from '../approvals/approval-request.js';
import { spendingApproval } from '../approvals/spending-approval.js';

const NO_LIMITS = { max_tokens: null, max_cost: null };

const NO_SECTION = {};
const readTerms = memoize((section: object) => ApprovalTerms.parse(section));

/** The terms that no rule says otherwise of. */
const termsOf = ({ config: { approvals } }: EntryOptions): ApprovalTerms => readTerms(approvals ?? NO_SECTION);

const limitsOf = ({ config: { approvals } }: EntryOptions) => ({ ...NO_LIMITS, ...approvals?.spending });

/** Creates the layer that asks, with the rules of the configuration and of the agent. */
export const createApprovalRequest = (options: EntryOptions): AgentMiddleware =>
  approvalRequest({
    terms: termsOf(options),
    rules: [...(options.config.approvals?.rules ?? []), ...(options.approvals ?? [])],
  });

export const createSpendingApproval = ({ model }: Pick<ChainPorts, 'model'>, options: EntryOptions): AgentMiddleware =>
  spendingApproval({ ...limitsOf(options), terms: termsOf(options) }, model);

/** Why no spending is asked for; undefined when it is. */
export function whyNoSpendingApproval(options: EntryOptions): string | undefined {
  const { max_tokens: tokens, max_cost: cost } = limitsOf(options);
  return tokens === null && cost === null ? 'approvals.spending has no limit' : undefined;
}
