import type { StateUpdate, ThreadState } from '@caribou/contracts';
import { z } from 'zod';

/** A field of the thread's state that belongs to one middleware. */
export interface StateSlot<T> {
  /**
   * Reads the field; undefined when nothing is stored, or when the stored value does not match the schema (written by
   * another version).
   */
  read(state: ThreadState): T | undefined;
  /** Creates an update that replaces the field; undefined deletes it. */
  write(value: T | undefined): StateUpdate;
}

/** A field that is stored as long as the thread; clients see `extensions` but not `guards`. */
export function stateSlot<T>(channel: 'guards' | 'extensions', name: string, schema: z.ZodType<T>): StateSlot<T> {
  // The usual case is that nothing is stored, and a failed parse costs more than a successful one.
  const hasDefault = schema.safeParse(undefined).success;
  return {
    read: (state) => {
      const stored = state[channel]?.[name];
      return stored === undefined && !hasDefault ? undefined : schema.safeParse(stored).data;
    },
    write: (value) => ({ [channel]: { [name]: value ?? null } }),
  };
}

/** A field that is valid for one run: other runs read undefined. */
export interface RunSlot<T> {
  read(state: ThreadState, run: { readonly runId: string }): T | undefined;
  write(value: T, run: { readonly runId: string }): StateUpdate;
}

/** Counters of one run, stored in the thread so that they survive a takeover. */
export function runSlot<T>(name: string, schema: z.ZodType<T>): RunSlot<T> {
  const slot = stateSlot('guards', name, z.object({ run_id: z.string(), value: schema }));
  return {
    read: (state, { runId }) => {
      const stored = slot.read(state);
      return stored?.run_id === runId ? stored.value : undefined;
    },
    write: (value, { runId }) => slot.write({ run_id: runId, value }),
  };
}
