import type { CallState, JournaledCall, ToolJournal } from '@caribou/core';

/** A journal of tool calls in memory, with the invariants of its port except for the lease. */
export function memoryToolJournal(): ToolJournal {
  const entries = new Map<string, { readonly call: JournaledCall; state: CallState }>();
  const nameOf = ({ userId, threadId, key }: JournaledCall): string => [userId, threadId, key].join('/');
  return {
    start: (call) => {
      const entry = entries.get(nameOf(call));
      if (entry === undefined) {
        entries.set(nameOf(call), { call, state: { state: 'unknown' } });
        return Promise.resolve({ state: 'new' });
      }
      if (entry.call.argsHash !== call.argsHash) return Promise.resolve({ state: 'mismatch' });
      const isSame = entry.call.epoch === call.epoch && entry.call.attempt === call.attempt;
      return Promise.resolve(isSame && entry.state.state === 'unknown' ? { state: 'new' } : entry.state);
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
