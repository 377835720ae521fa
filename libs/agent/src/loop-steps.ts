import type { InterruptRecord, NextNode } from '@caribou/contracts';
import { Interrupted } from '@caribou/core';
import { type HookName, type HookPass, runHooks } from '@caribou/middleware';
import type { AgentRun, LoopOptions } from './agent-run.js';
import type { TurnDraft } from './turn-draft.js';

/** The result of a run's nodes; a `next` that is not empty is a breakpoint. */
export interface RunEnd {
  readonly next: readonly NextNode[];
  readonly error?: { readonly name: string; readonly message: string };
  readonly stopReason?: string;
  /** What waits for answers. */
  readonly asked?: readonly InterruptRecord[];
  /** The run was paused before the next node. */
  readonly paused?: InterruptRecord;
}

export const FINISHED: RunEnd = { next: [] };

/** The next node, or the end of the run. */
export type Following = NextNode | RunEnd;

/** Thrown to leave the loop after a commit at which the host requested to stop. */
export class StopRequested extends Error {}

/** Thrown by a hook's pass that asks a person; the node is to be repeated with the answer. */
export class HookInterrupted extends Error {
  constructor(
    readonly node: NextNode,
    readonly asked: readonly InterruptRecord[],
  ) {
    super(`a hook of ${node} waits for an answer`);
  }
}

/** Runs one hook over the chain; its changes become part of the next commit. @throws {HookInterrupted} when it asks a person */
export async function runChain({ chain, run }: AgentRun, draft: TurnDraft, hook: HookName): Promise<HookPass> {
  try {
    const pass = await runHooks(chain, hook, { state: draft.state, run, step: draft.step });
    draft.addHooks(hook, pass);
    return pass;
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    throw new HookInterrupted(hook === 'afterModel' ? 'after_model' : 'model_request', error.asked);
  }
}

/**
 * Commits the draft; a takeover continues with `next`, or at the end of the run without one.
 *
 * @throws {StopRequested} when the host requests to stop here; the signal's reason when the run was aborted meanwhile
 */
export async function commit({ host, run }: AgentRun, draft: TurnDraft, next?: NextNode): Promise<void> {
  const result = await host.commit(draft.toCommit(next === undefined ? [] : [next]));
  if (result === 'yield') throw new StopRequested();
  run.signal.throwIfAborted();
}

/** Whether the run ends at a breakpoint instead of committing, so that a takeover never finds an incomplete one. */
export const pausesBetween = (options: LoopOptions, node: NextNode, next: NextNode): boolean =>
  includesNode(options.interruptAfter, node === 'after_model' ? 'model_request' : node) ||
  includesNode(options.interruptBefore, next);

export const includesNode = (breakpoints: '*' | readonly string[] | undefined, node: NextNode): boolean =>
  breakpoints === '*' || (breakpoints?.includes(node) ?? false);

export const turnsLeft = ({ options, turnsTaken = 0 }: AgentRun, draft: TurnDraft): number =>
  options.maxTurns - turnsTaken - draft.modelTurns;
