import { z } from 'zod';
import { Decider } from './decider.js';
import { RuleId } from './command-rules.js';

/** Rules for tool calls that a person has to decide before they are executed. Keys are spelled as in the configuration. */

/**
 * What a person may decide about a call: execute it, execute it with other arguments, refuse it, or answer the model in place of
 * the tool. The names are those of LangChain's human-in-the-loop middleware.
 */
export const DecisionType = z.enum(['approve', 'edit', 'reject', 'respond']);
export type DecisionType = z.infer<typeof DecisionType>;

/** Maximum number of rules of the configuration, and of an agent. */
const MAX_RULES = 100;
const MAX_AGENT_RULES = 20;
const MAX_WAIT_SECONDS = 31_536_000;

/** Patterns in which `*` matches any characters; one of them must match. */
const patterns = z.array(z.string().min(1).max(200)).min(1).max(100);

const conditions = {
  tools: patterns
    .optional()
    .describe('Name of the tool as the model calls it; those of MCP servers begin with the server'),
  paths: patterns.optional().describe('The call names a file or directory that matches'),
  paths_outside: patterns.optional().describe('The call names a file or directory that none of these matches'),
  hosts: patterns.optional().describe('The call has a URL whose host matches'),
  hosts_outside: patterns.optional().describe('The call has a URL whose host none of these matches'),
};
const conditionNames = Object.keys(conditions);

/** How a question is decided; what a rule leaves out is taken from the section. */
const terms = {
  decider: Decider.optional().describe(
    'owner: the owner of the thread or an administrator; admin: administrators only',
  ),
  allowed_decisions: z.array(DecisionType).min(1).max(4).optional().describe('approve, edit, reject, respond'),
  expires_after_seconds: z
    .int()
    .min(1)
    .max(MAX_WAIT_SECONDS)
    .optional()
    .describe('How long it waits; absent: for ever'),
  on_expiry: z.enum(['reject', 'approve']).optional().describe('The decision after that time'),
};

/** A rule of the configuration or of an agent: all given conditions must hold for a call. */
export const ApprovalRule = z
  .strictObject({
    id: RuleId,
    ...conditions,
    ...terms,
    message: z.string().min(1).max(500).optional().describe('Why, as the person who decides reads it'),
  })
  .refine((rule) => conditionNames.some((name) => name in rule), `must have one of ${conditionNames.join(', ')}`);
export type ApprovalRule = z.infer<typeof ApprovalRule>;

export const ApprovalRules = z.array(ApprovalRule).max(MAX_RULES);

/** Rules that a custom agent adds to those of the configuration; null: none. */
export const AgentApprovals = z
  .array(ApprovalRule)
  .max(MAX_AGENT_RULES, `must have at most ${MAX_AGENT_RULES} rules`)
  .nullable();

/** The terms of a question that no rule says otherwise of. */
export const ApprovalTerms = z.object({
  decider: Decider.default('owner').describe(
    'Who decides: owner (the owner of the thread or an administrator) or admin',
  ),
  allowed_decisions: z
    .array(DecisionType)
    .min(1)
    .max(4)
    .default(['approve', 'edit', 'reject'])
    .describe('Possible decisions: approve, edit, reject, respond'),
  expires_after_seconds: z
    .int()
    .min(1)
    .max(MAX_WAIT_SECONDS)
    .nullable()
    .default(null)
    .describe('How long a question waits, in seconds; null: for ever'),
  on_expiry: z.enum(['reject', 'approve']).default('reject').describe('The decision after that time'),
});
export type ApprovalTerms = z.infer<typeof ApprovalTerms>;
