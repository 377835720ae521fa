import { Injectable } from '@nestjs/common';
import { type CancelAction, NotFoundError, type RouteInput, type RunSummary, type runRoutes } from '@caribou/contracts';
import type { ThreadStore } from '@caribou/state';
import { Dependency } from '../dependency.js';
import { RunsService } from './runs.service.js';

type Selection = RouteInput<typeof runRoutes.cancelMany>['body'];

/** Cancels that are sent to the store at the same time. */
const AT_ONCE = 20;

/** Stops several runs with one request. */
@Injectable()
export class RunCancels {
  constructor(
    @Dependency('threadStore') private readonly store: Pick<ThreadStore, 'findRun' | 'getThread' | 'runsInFlight'>,
    private readonly runs: RunsService,
  ) {}

  /**
   * Cancels the selected runs of the user. With ids, all are looked up before the first is cancelled. A run that has ended,
   * or has another status by the time of its cancellation, does not change.
   *
   * @throws {NotFoundError} for a thread or a run that is not the user's, or is not on the named thread
   */
  async cancel(userId: string, selection: Selection, action: CancelAction): Promise<void> {
    const { status } = selection;
    const by = `user:${userId}`;
    const only = status === 'pending' || status === 'running' ? { status, by } : { by };
    const runs = await this.select(userId, selection);
    for (let from = 0; from < runs.length; from += AT_ONCE)
      await Promise.all(
        runs.slice(from, from + AT_ONCE).map(async ({ thread_id: threadId, run_id: runId }) => {
          await ignoreNotFound(this.runs.cancel({ userId, threadId }, runId, action, only));
        }),
      );
  }

  private async select(
    userId: string,
    { thread_id: threadId, run_ids: runIds }: Selection,
  ): Promise<readonly Selected[]> {
    if (typeof threadId === 'string') await this.store.getThread({ userId, threadId });
    const isOfThread = (run: Selected): boolean => (threadId ?? run.thread_id) === run.thread_id;
    if (runIds === null || runIds === undefined) return (await this.store.runsInFlight(userId)).filter(isOfThread);
    const found: Selected[] = [];
    for (let from = 0; from < runIds.length; from += AT_ONCE) {
      const ids = runIds.slice(from, from + AT_ONCE);
      found.push(...(await Promise.all(ids.map((runId) => this.store.findRun(userId, runId)))));
    }
    const other = found.find((run) => !isOfThread(run));
    if (other !== undefined) throw new NotFoundError(`Run ${other.run_id} does not exist on this thread`);
    return found;
  }
}

type Selected = Pick<RunSummary, 'run_id' | 'thread_id'>;

/** A run that was rolled back or deleted meanwhile needs no cancellation. */
async function ignoreNotFound(cancel: Promise<unknown>): Promise<void> {
  try {
    await cancel;
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
  }
}
