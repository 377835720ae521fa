import { RunDraining } from '@caribou/core';
import type { LeaseKeeper } from './lease-keeper.js';

interface HeldRun {
  readonly keeper: LeaseKeeper;
  draining: boolean;
}

/** The runs this process executes right now: who to nudge on a cancel, who to drain on shutdown. */
export class RunRegistry {
  private readonly held = new Map<string, HeldRun>();
  private draining = false;
  private emptied: (() => void)[] = [];

  add(runId: string, keeper: LeaseKeeper): { readonly draining: boolean; readonly remove: () => void } {
    const run: HeldRun = { keeper, draining: this.draining };
    this.held.set(runId, run);
    const registry = this;
    return {
      get draining() {
        return run.draining || registry.draining;
      },
      remove: () => {
        if (this.held.get(runId) === run) this.held.delete(runId);
        if (this.held.size === 0) for (const resolve of this.emptied.splice(0)) resolve();
      },
    };
  }

  get size(): number {
    return this.held.size;
  }

  /** A cancel was broadcast: the durable flag is read by a renewal, so a forged or stale broadcast does nothing. */
  nudge(runId: string): void {
    void this.held.get(runId)?.keeper.renewNow();
  }

  /**
   * Asks every run to stop at its next commit and waits until all are handed over; after `graceMs` the rest stop where
   * they are, and what they had not committed is done again elsewhere.
   */
  async drain(graceMs: number): Promise<void> {
    this.draining = true;
    if (this.held.size === 0) return;
    const emptied = new Promise<void>((resolve) => this.emptied.push(resolve));
    const timer = setTimeout(() => {
      for (const run of this.held.values()) run.keeper.fail(new RunDraining());
    }, graceMs);
    await emptied;
    clearTimeout(timer);
  }
}
