import type { ApprovalRule, ApprovalTerms, Decider, DecisionType, ToolCall } from '@caribou/contracts';
import { matchesWildcard } from '../command-rules/wildcard.js';
import { hostsOf, pathsOf } from './call-facts.js';

/** What decides which calls a person is asked for. */
export interface ApprovalPolicy {
  readonly terms: ApprovalTerms;
  /** Those of the configuration, then those of the agent. */
  readonly rules: readonly ApprovalRule[];
}

/** Calls that need a person are asked for on these terms. */
export interface RequiredApproval {
  /** Ids of the rules that matched. */
  readonly rules: readonly string[];
  /** Why, for the person. */
  readonly message: string;
  readonly decider: Decider;
  readonly allowedDecisions: readonly DecisionType[];
  /** Absent: it waits for ever. */
  readonly expiresAfterMs?: number;
  readonly onExpiry: 'approve' | 'reject';
}

export interface CheckedCall {
  readonly call: Pick<ToolCall, 'name' | 'args'>;
  /** Ids of the rules for commands whose verdict is `ask`, with their reason. */
  readonly command?: { readonly rules: readonly string[]; readonly reason: string };
}

/** Tools that ask a person themselves. */
const NEVER_ASKED = new Set(['ask_clarification']);

/**
 * Returns the terms on which a call needs a person; undefined when it needs none. When several rules match, the strictest of each
 * term applies: administrators decide, decisions that all rules allow, the shortest time, and rejection at its end.
 */
export function findRequiredApproval(
  { call, command }: CheckedCall,
  { terms, rules }: ApprovalPolicy,
): RequiredApproval | undefined {
  if (NEVER_ASKED.has(call.name)) return undefined;
  const matched = rules.filter((rule) => matchesRule(rule, call));
  const asked = matched.map((rule) => ({ ...rule, reason: rule.message ?? `the rule ${rule.id} asks for this` }));
  if (command !== undefined) asked.push({ id: command.rules.join(', '), reason: `the command: ${command.reason}` });
  if (asked.length === 0) return undefined;
  const seconds = asked.flatMap((rule) => rule.expires_after_seconds ?? terms.expires_after_seconds ?? []);
  const allowed = asked.map((rule) => rule.allowed_decisions ?? terms.allowed_decisions);
  return {
    rules: [...(command?.rules ?? []), ...matched.map(({ id }) => id)],
    message: asked.map(({ reason }) => reason).join('; '),
    decider: asked.some((rule) => (rule.decider ?? terms.decider) === 'admin') ? 'admin' : 'owner',
    allowedDecisions: allowedByAll(allowed),
    ...(seconds.length === 0 ? {} : { expiresAfterMs: Math.min(...seconds) * 1_000 }),
    onExpiry: asked.every((rule) => (rule.on_expiry ?? terms.on_expiry) === 'approve') ? 'approve' : 'reject',
  };
}

/** A call can always be refused when the rules have no decision in common. */
function allowedByAll([first = [], ...others]: readonly (readonly DecisionType[])[]): readonly DecisionType[] {
  const common = first.filter((decision) => others.every((allowed) => allowed.includes(decision)));
  return common.length === 0 ? ['reject'] : common;
}

function matchesRule(rule: ApprovalRule, { name, args }: Pick<ToolCall, 'name' | 'args'>): boolean {
  const { tools, paths, paths_outside, hosts, hosts_outside } = rule;
  return (
    (tools === undefined || matchesAny(tools, name)) &&
    (paths === undefined || pathsOf(args).some((path) => matchesAny(paths, path))) &&
    (paths_outside === undefined || pathsOf(args).some((path) => !matchesAny(paths_outside, path))) &&
    (hosts === undefined || hostsOf(args).some((host) => matchesAny(hosts, host))) &&
    (hosts_outside === undefined || hostsOf(args).some((host) => !matchesAny(hosts_outside, host)))
  );
}

const matchesAny = (patterns: readonly string[], text: string): boolean =>
  patterns.some((pattern) => matchesWildcard(pattern, text));
