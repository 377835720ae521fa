import type { NextNode, ThreadState } from '@caribou/contracts';
import { type LoopHost, type LoopOutcome, type LoopPosition, RunLost } from '@caribou/core';
import { type FakeHost, fakeHost } from '../stores/fake-run.js';

/** What ends an attempt: a death at a commit (written before or not), or a release for takeover after it. Commits count from 1. */
export type Cut =
  | { readonly kind: 'death'; readonly commit: number; readonly written: boolean }
  | { readonly kind: 'yield'; readonly commit: number };

/** The checkpoint from which an attempt continues. */
export interface Attempt {
  /** From 1. */
  readonly attempt: number;
  readonly host: LoopHost;
  readonly state: ThreadState;
  readonly step: number;
  readonly position: LoopPosition;
  readonly turnsTaken: number;
}

export interface Replayed {
  readonly outcome: Exclude<LoopOutcome, { kind: 'yielded' }>;
  readonly attempts: number;
}

/** Runs to the end: each cut ends one attempt, and the next continues from the last commit. */
export async function runWithCuts(
  state: ThreadState,
  cuts: readonly Cut[],
  runAttempt: (from: Attempt) => Promise<LoopOutcome>,
): Promise<Replayed> {
  let head: { readonly state: ThreadState; readonly next: readonly NextNode[]; readonly step: number } | undefined;
  let turnsTaken = 0;
  for (let attempt = 1; ; attempt += 1) {
    const from = head?.state ?? state;
    const host = hostFor(from, cuts[attempt - 1]);
    const position = head === undefined ? 'start' : (head.next[0] ?? 'end');
    const outcome = await orDeath(
      runAttempt({ attempt, host, state: from, step: head?.step ?? 0, position, turnsTaken }),
    );
    if (outcome !== undefined && outcome.kind !== 'yielded') return { outcome, attempts: attempt };
    turnsTaken += host.commits.reduce((sum, commit) => sum + (commit.usage?.turns ?? 0), 0);
    if (host.commits.length > 0) head = host.head;
  }
}

function hostFor(state: ThreadState, end: Cut | undefined): FakeHost {
  if (end === undefined) return fakeHost({ state });
  return end.kind === 'yield' ? fakeHost({ state, yieldAt: end.commit }) : fakeHost({ state, dieAt: end });
}

async function orDeath(run: Promise<LoopOutcome>): Promise<LoopOutcome | undefined> {
  try {
    return await run;
  } catch (error) {
    if (error instanceof RunLost) return undefined;
    throw error;
  }
}
