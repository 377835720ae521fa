import type { AgentMiddleware } from '@caribou/core';
import { CHAIN } from './chain-entries.js';
import type { ChainEntry, ChainOptions, ChainPorts, EntryOptions } from './chain-types.js';

export type ChainKind = 'lead' | 'subagent';

/** The lead agent's middlewares. First is outermost for wraps and first for `before*`, last is first for `after*`. */
export const leadChain = (ports: ChainPorts, options: ChainOptions = {}): readonly AgentMiddleware[] =>
  chainOf('lead', ports, options);

/** A subagent's: the lead's without what only a conversation with a person needs, in the same order. */
export const subagentChain = (ports: ChainPorts, options: ChainOptions = {}): readonly AgentMiddleware[] =>
  chainOf('subagent', ports, options);

function chainOf(kind: ChainKind, ports: ChainPorts, given: ChainOptions): readonly AgentMiddleware[] {
  const options = withSections(given);
  return CHAIN.flatMap((entry) =>
    whyDisabled(entry, kind, options) === null ? [...entry.create(ports, options)] : [],
  );
}

const withSections = (options: ChainOptions): EntryOptions => ({ config: {}, ...options });

/** One position of the chain as people read it. */
export interface EntryDescription {
  readonly name: string;
  /** Why it is at this position. */
  readonly reason: string;
  readonly active: boolean;
  /** Why it is left out; null when it is in. */
  readonly absent: string | null;
}

/** Every position of the chain in order, with what these options make of it. */
export const describeChain = (kind: ChainKind, options: ChainOptions): readonly EntryDescription[] =>
  CHAIN.map((entry) => {
    const absent = whyDisabled(entry, kind, withSections(options));
    return { name: entry.name, reason: entry.reason, active: absent === null, absent };
  });

/** Names that no middleware of an operator may take: node names, log lines and fields of the state carry them. */
export const MIDDLEWARE_NAMES: ReadonlySet<string> = new Set(CHAIN.map(({ name }) => name));

function whyDisabled(entry: ChainEntry, kind: ChainKind, options: EntryOptions): string | null {
  if (kind === 'subagent' && entry.leadOnly === true) return 'not for subagents';
  return entry.disabledReason?.(options) ?? null;
}
