import { RunDraining, SlotMap } from '@caribou/core';
import type { LeaseKeeper } from './leases/lease-keeper.js';

interface HeldRun {
  readonly keeper: LeaseKeeper;
  draining: boolean;
}

/** The runs that this process executes now; they are notified of cancels and drained at shutdown. */
export class RunRegistry {
  private readonly held = new SlotMap<HeldRun>();
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

  /**
   * Handles the broadcast of a cancel: a renewal reads the durable flag, so a forged or outdated broadcast has no
   * effect.
   */
  nudge(runId: string): void {
    void this.held.get(runId)?.keeper.renewNow();
  }

  /**
   * Requests every run to stop at its next commit and waits until all are handed over. After `graceMs` the remaining
   * ones stop at once, and another process repeats what they had not committed.
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
