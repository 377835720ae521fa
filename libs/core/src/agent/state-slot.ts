import type { StateUpdate, ThreadState } from '@caribou/contracts';
import { z } from 'zod';

/** A middleware's own field of the thread. */
export interface StateSlot<T> {
  /** Undefined when nothing was written, or what another version wrote does not fit the schema. */
  read(state: ThreadState): T | undefined;
  /** An update that replaces the field; undefined takes it out. */
  write(value: T | undefined): StateUpdate;
}

/** A field of the thread that lasts as long as the thread; `guards` is hidden from clients, `extensions` is shown. */
export function stateSlot<T>(channel: 'guards' | 'extensions', name: string, schema: z.ZodType<T>): StateSlot<T> {
  return {
    read: (state) => schema.safeParse(state[channel]?.[name]).data,
    write: (value) => ({ [channel]: { [name]: value ?? null } }),
  };
}

/** A field that counts for one run: another run reads nothing. */
export interface RunSlot<T> {
  read(state: ThreadState, run: { readonly runId: string }): T | undefined;
  write(value: T, run: { readonly runId: string }): StateUpdate;
}

/** A guard's counters of one run, kept in the thread so that a takeover goes on with them. */
export function runSlot<T>(name: string, schema: z.ZodType<T>): RunSlot<T> {
  const slot = stateSlot('guards', name, z.object({ run_id: z.string(), value: schema }));
  return {
    read: (state, { runId }) => {
      const kept = slot.read(state);
      return kept?.run_id === runId ? kept.value : undefined;
    },
    write: (value, { runId }) => slot.write({ run_id: runId, value }),
  };
}
