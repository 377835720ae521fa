import type { CommandParams, RunCreate } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { ProtocolRefusal } from './protocol-refusal.js';

/** A run and its ordinal in the thread. */
export interface ThreadRun {
  readonly run_id: string;
  readonly ordinal: number;
}

/** What clients give to a run that is under way. */
export interface ThreadInput {
  /** Gives the input of a `run.start` to the run that is under way, and returns that run. */
  injectInput(thread: ThreadKey, body: RunCreate): Promise<ThreadRun>;
  /** Gives a message to the run that is under way. @throws {ProtocolRefusal} `no_such_run` */
  inject(thread: ThreadKey, input: CommandParams<'input.inject'>): Promise<void>;
}

const noInjection = (): Promise<never> =>
  Promise.reject(
    new ProtocolRefusal(
      'not_supported',
      'a message cannot be given to a run that is under way: use run.start with multitask_strategy enqueue, interrupt or rollback',
    ),
  );

/** Runs of this version take no messages while they are under way. */
export const noThreadInput: ThreadInput = { injectInput: noInjection, inject: noInjection };
