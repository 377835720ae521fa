import { KeyedMutex, type ThreadKey } from '@caribou/core';
import { type CopyState, keyOf } from './copy-state.js';

/** What this process knows of the copies of its threads, and one lane for each: work on a copy never overlaps. */
export class CopyStates {
  private readonly states = new Map<string, CopyState>();
  private readonly lanes = new KeyedMutex();

  of(thread: ThreadKey): CopyState {
    const key = keyOf(thread);
    let state = this.states.get(key);
    if (state === undefined) {
      state = { at: undefined, background: undefined, notice: undefined };
      this.states.set(key, state);
    }
    return state;
  }

  /** Whether something is known of the thread's copy. */
  has(thread: ThreadKey): boolean {
    return this.states.has(keyOf(thread));
  }

  inLane<T>(thread: ThreadKey, work: () => Promise<T>): Promise<T> {
    return this.lanes.run(keyOf(thread), work);
  }

  /** Also ends the publication in the background. */
  drop(thread: ThreadKey): void {
    const key = keyOf(thread);
    this.states.get(key)?.background?.stop();
    this.states.delete(key);
  }
}
