import {
  type CheckpointView,
  clientInterruptsOf,
  type NumberedEvent,
  NotFoundError,
  type RunSummary,
  type RunStatus,
  toClientState,
} from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { ThreadStore } from '@caribou/state';
import { type FollowPorts, retryWhileUnavailable, RunFollower } from '@caribou/runs';
import { askedAtEnd } from './projections/frame.js';

/** How a run ended, according to its events. */
export interface RunOutcome {
  readonly status: RunStatus;
  readonly error: { readonly name: string; readonly message: string } | null;
  /** The run's last checkpoint; null when its events have expired. */
  readonly checkpointId: string | null;
}

export interface WaitOptions {
  readonly run: RunSummary;
  readonly checkMs: number;
  readonly signal: AbortSignal;
}

/** Waits for a run's end. @throws the signal's reason */
export async function runOutcome(ports: FollowPorts, options: WaitOptions): Promise<RunOutcome> {
  const follower = await RunFollower.open(ports, { ...options, after: 0, mayBeOver: true });
  const seen = new OutcomeCollector(options.run);
  try {
    for (;;) {
      const item = await follower.next();
      if (item.kind === 'over') return seen.withoutEnd(item.run);
      if (item.kind === 'trimmed') follower.skipTo(item.firstKept);
      else if (item.kind === 'rewound') follower.startOver();
      else if (seen.take(item.events)) return seen.outcome;
    }
  } finally {
    follower.close();
  }
}

class OutcomeCollector {
  private status: RunStatus;
  private error: RunOutcome['error'] = null;
  private checkpointId: string | null = null;

  constructor(run: RunSummary) {
    this.status = run.status;
  }

  get outcome(): RunOutcome {
    return { status: this.status, error: this.error, checkpointId: this.checkpointId };
  }

  /** Reads the events; returns true when they contain the end of the run. */
  take(events: readonly NumberedEvent[]): boolean {
    for (const { event } of events) {
      if (event.kind === 'checkpoint') this.checkpointId = event.checkpoint_id;
      else if (event.kind === 'error') this.error = { name: event.name, message: event.message };
      else if (event.kind === 'end') {
        this.status = event.status;
        return true;
      }
    }
    return false;
  }

  withoutEnd(run: RunSummary | null): RunOutcome {
    if (run === null)
      return { ...this.outcome, error: { name: 'RunGone', message: 'the run is no longer there' }, status: 'error' };
    return { ...this.outcome, status: run.status, error: run.error };
  }
}

export interface FinalPorts {
  readonly store: Pick<ThreadStore, 'checkpoint' | 'head' | 'history'>;
}

/**
 * The answer of `wait` and `join`: the values of the run's last checkpoint, with `__interrupt__` when the run waits for
 * answers (empty when it stopped at a breakpoint), or `__error__` when it failed.
 *
 * @throws the signal's reason
 */
export async function readFinalValues(
  ports: FinalPorts,
  outcome: RunOutcome,
  options: WaitOptions,
): Promise<Readonly<Record<string, unknown>>> {
  const { run } = options;
  if (outcome.status === 'error' || outcome.status === 'timeout') {
    const { name, message } = outcome.error ??
      run.error ?? { name: 'Error', message: `the run ended with status ${outcome.status}` };
    return { __error__: { error: name, message } };
  }
  const key = { userId: run.user_id, threadId: run.thread_id };
  const view = await retryWhileUnavailable(
    () => readLastView(ports, key, { run, checkpointId: outcome.checkpointId }),
    options,
  );
  if (view === null) return {};
  const end = { kind: 'end', status: outcome.status } as const;
  const asked = askedAtEnd(end, { next: view.next, interrupts: clientInterruptsOf(view.state) });
  return { ...toClientState(view.state), ...(asked === undefined ? {} : { __interrupt__: asked }) };
}

/** The run's last checkpoint, or, after a rollback, the newest checkpoint of the thread. */
async function readLastView(
  { store }: FinalPorts,
  key: ThreadKey,
  last: { readonly run: RunSummary; readonly checkpointId: string | null },
): Promise<CheckpointView | null> {
  try {
    if (last.checkpointId !== null) return await store.checkpoint(key, last.checkpointId);
    const [newest] = await store.history(key, { limit: 1, metadata: { run_id: last.run.run_id } });
    if (newest !== undefined) return newest;
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
  }
  try {
    return await store.head(key);
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}
