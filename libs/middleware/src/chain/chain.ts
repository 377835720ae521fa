import type { AgentMiddleware } from '@caribou/core';
import { CHAIN } from './chain-order.js';
import type { ChainEntry, ChainOptions, ChainPorts, EntryOptions } from './chain-types.js';

export type ChainKind = 'lead' | 'subagent';

/** The lead agent's middlewares. First is outermost for wraps and first for `before*`, last is first for `after*`. */
export const leadChain = (ports: ChainPorts, options: ChainOptions = {}): readonly AgentMiddleware[] =>
  chainOf('lead', ports, options);

/** A subagent's middlewares: the lead's, in the same order, without those that need a conversation with a user. */
export const subagentChain = (ports: ChainPorts, options: ChainOptions = {}): readonly AgentMiddleware[] =>
  chainOf('subagent', ports, options);

function chainOf(kind: ChainKind, ports: ChainPorts, given: ChainOptions): readonly AgentMiddleware[] {
  const options = withSections(given);
  return CHAIN.flatMap((entry) =>
    whyDisabled(entry, kind, options) === null ? [...entry.create(ports, options)] : [],
  );
}

const withSections = (options: ChainOptions): EntryOptions => ({ config: {}, ...options });

/** One position of the chain, for display. */
export interface EntryDescription {
  readonly name: string;
  /** Why it is at this position. */
  readonly reason: string;
  readonly active: boolean;
  /** Why it is disabled; null when it is active. */
  readonly absent: string | null;
}

/** Every position of the chain in order, and whether these options enable it. */
export const describeChain = (kind: ChainKind, options: ChainOptions): readonly EntryDescription[] =>
  CHAIN.map((entry) => {
    const absent = whyDisabled(entry, kind, withSections(options));
    return { name: entry.name, reason: entry.reason, active: absent === null, absent };
  });

/** Reserved names for the operator's middlewares, as node names, log lines and state fields contain them. */
export const MIDDLEWARE_NAMES: ReadonlySet<string> = new Set(CHAIN.map(({ name }) => name));

function whyDisabled(entry: ChainEntry, kind: ChainKind, options: EntryOptions): string | null {
  if (kind === 'subagent' && entry.leadOnly === true) return 'not for subagents';
  return entry.disabledReason?.(options) ?? null;
}
