import { ApprovalRules, ApprovalTerms } from '@caribou/contracts';
import { z } from 'zod';

const SpendingFile = z
  .object({
    max_tokens: z.int().min(1).nullable().default(null).describe('Tokens of a turn; null: no limit'),
    max_cost: z
      .number()
      .gt(0)
      .nullable()
      .default(null)
      .describe('Cost of a turn at the prices of its model, in their currency; null: no limit'),
  })
  .describe(
    'A person decides before the next model call of a turn that has used this much, and again after as much more',
  );

/** Which calls a person decides before they are executed. */
export const ApprovalsFile = z
  .object({
    ...ApprovalTerms.shape,
    rules: ApprovalRules.default([]).describe(
      'Rules: id, conditions (tools, paths, paths_outside, hosts, hosts_outside), and what differs from the above',
    ),
    spending: SpendingFile.prefault({}),
  })
  .describe('Approvals (docs/approvals.md); commands are asked for by command_rules with the verdict ask');
