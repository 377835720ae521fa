import type { AgentMiddleware } from '@caribou/core';
import { places } from './chain-places.js';
import type { ChainOptions, ChainPorts, Place } from './chain-types.js';

export type ChainKind = 'lead' | 'subagent';

/** The lead agent's middlewares. First is outermost for wraps and first for `before*`, last is first for `after*`. */
export const leadChain = (ports: ChainPorts, options: ChainOptions = {}): readonly AgentMiddleware[] =>
  chainOf('lead', ports, options);

/** A subagent's: the lead's without what only a conversation with a person needs, in the same order. */
export const subagentChain = (ports: ChainPorts, options: ChainOptions = {}): readonly AgentMiddleware[] =>
  chainOf('subagent', ports, options);

function chainOf(kind: ChainKind, ports: ChainPorts, options: ChainOptions): readonly AgentMiddleware[] {
  return places.flatMap((place) => (whyAbsent(place, kind, options) === null ? [...place.make(ports, options)] : []));
}

/** One place of the chain as people read it. */
export interface PlaceDescription {
  readonly name: string;
  /** Why it stands where it does. */
  readonly reason: string;
  readonly active: boolean;
  /** Why it is left out; null when it is in. */
  readonly absent: string | null;
}

/** Every place of the chain in order, with what these options make of it. */
export const describeChain = (kind: ChainKind, options: ChainOptions): readonly PlaceDescription[] =>
  places.map((place) => {
    const absent = whyAbsent(place, kind, options);
    return { name: place.name, reason: place.reason, active: absent === null, absent };
  });

function whyAbsent(place: Place, kind: ChainKind, options: ChainOptions): string | null {
  if (kind === 'subagent' && place.leadOnly === true) return 'not for subagents';
  return place.absent?.(options) ?? null;
}
