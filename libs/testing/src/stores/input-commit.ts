import { applyUpdate, dropLateAnswers } from '@caribou/core';
import type { CommitRequest, RunStore } from '@caribou/state';
import type { ClaimedRun } from './store-fixture.js';

/** Commits the input of a claimed run, as a runner does before its first step: on the head, or on the checkpoint it continues from. */
export async function commitInput(
  runs: Pick<RunStore, 'commit' | 'loadCheckpoint'>,
  { lease, run, head }: Pick<ClaimedRun, 'lease' | 'run' | 'head'>,
): ReturnType<RunStore['commit']> {
  const fork = run.fork_checkpoint_id;
  const forkedFrom = fork === null ? undefined : await runs.loadCheckpoint(lease, fork);
  const base = (forkedFrom ?? head).state;
  const request: CommitRequest = {
    head,
    next: ['model_request'],
    source: 'input',
    step: 0,
    events: [],
    inputCommitted: true,
    ...(forkedFrom && { forkedFrom }),
    state: applyUpdate(base, dropLateAnswers(base.messages, run.kwargs.input ?? {})),
  };
  return await runs.commit(lease, request);
}
