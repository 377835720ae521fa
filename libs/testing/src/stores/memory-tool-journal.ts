import type { CallState, JournaledCall, ToolJournal } from '@caribou/core';

/** A journal of tool calls in memory, with the invariants of its port except for the lease. */
export function memoryToolJournal(): ToolJournal {
  const entries = new Map<string, { readonly argsHash: string; state: CallState }>();
  const nameOf = ({ userId, threadId, key }: JournaledCall): string => [userId, threadId, key].join('/');
  return {
    start: (call) => {
      const entry = entries.get(nameOf(call));
      if (entry === undefined) entries.set(nameOf(call), { argsHash: call.argsHash, state: { state: 'unknown' } });
      const known = entry?.argsHash === call.argsHash ? entry.state : ({ state: 'mismatch' } as const);
      return Promise.resolve(entry === undefined ? { state: 'new' } : known);
    },
    finish: (call, outcome) => {
      const entry = entries.get(nameOf(call));
      if (entry !== undefined) entry.state = { state: 'done', outcome };
      return Promise.resolve();
    },
    withdraw: (call) => {
      if (entries.get(nameOf(call))?.state.state === 'unknown') entries.delete(nameOf(call));
      return Promise.resolve();
    },
  };
}
