import { UnavailableError } from '@caribou/contracts';
import type { Clock, Logger } from '@caribou/core';
import type { ProcessRenewal, RunStore } from '@caribou/state';
import type { DirectWorker } from './sweeper.js';

/** Maximum number of runs of dead processes that one look returns. */
const MAX_PER_LOOK = 1_000;
/** After this time the leases of what a dead process had claimed have lapsed too, and sweeps find it. */
const WATCHED_MS = 30_000;

export interface OrphanTakeoverOptions {
  readonly store: Pick<RunStore, 'listOrphans'>;
  readonly worker: Pick<DirectWorker, 'take'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly logger: Logger;
  /** Random number, 0 ≤ value < 1: survivors begin at different runs. */
  readonly random?: () => number;
}

interface Watched {
  readonly sinceMs: number;
  looks: number;
  isOver: boolean;
}

/**
 * Takes over the runs of processes that died: at the first look its share, so that the other survivors find theirs, and
 * then all that are left, as far as slots are free.
 */
export class OrphanTakeover {
  private watched = new Map<string, Watched>();
  private isLooking = false;

  constructor(private readonly options: OrphanTakeoverOptions) {}

  /** Handles the dead processes that a renewal of this process's lease has named. Never rejects. */
  async handle({ dead, living }: ProcessRenewal): Promise<void> {
    const nowMs = this.options.clock.monotonicMs();
    const known = this.watched;
    this.watched = new Map(dead.map((id) => [id, known.get(id) ?? { sinceMs: nowMs, looks: 0, isOver: false }]));
    const due = [...this.watched].filter(([, { isOver, sinceMs }]) => !isOver && nowMs - sinceMs < WATCHED_MS);
    if (due.length === 0 || this.isLooking) return;
    this.isLooking = true;
    try {
      await this.takeOver(new Map(due), living);
    } catch (error) {
      const fields = { event: 'orphans.take_over', outcome: 'error', error };
      if (error instanceof UnavailableError) this.options.logger.warn(fields, 'runs of a dead process not listed yet');
      else this.options.logger.error(fields, 'runs of a dead process not taken over because of a defect');
    } finally {
      this.isLooking = false;
    }
  }

  private async takeOver(due: ReadonlyMap<string, Watched>, living: number): Promise<void> {
    const { store, worker, logger, random = Math.random } = this.options;
    const orphans = await store.listOrphans([...due.keys()], MAX_PER_LOOK);
    const isFirst = [...due.values()].some(({ looks }) => looks === 0);
    for (const watched of due.values()) {
      watched.looks += 1;
      watched.isOver = orphans.length === 0;
    }
    const share = isFirst ? Math.ceil(orphans.length / Math.max(living, 1)) : orphans.length;
    const first = Math.floor(random() * orphans.length);
    let taken = 0;
    for (const orphan of [...orphans.slice(first), ...orphans.slice(0, first)]) {
      if (taken >= share || !worker.take(orphan)) break;
      taken += 1;
    }
    if (orphans.length > 0) {
      logger.info(
        { event: 'orphans.take_over', outcome: 'ok' },
        `${taken} of ${orphans.length} runs of dead processes`,
      );
    }
  }
}
