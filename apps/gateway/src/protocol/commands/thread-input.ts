import type { CommandParams, RunCreate } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { StartHeaders } from '../../runs/runs.service.js';
import { ProtocolRefusal } from './protocol-refusal.js';

/** A run and its ordinal in the thread. */
export interface ThreadRun {
  readonly run_id: string;
  readonly ordinal: number;
}

/** What clients send to a thread whose run waits for an answer or is under way. */
export interface ThreadInput {
  /** Resumes the interrupted run of the thread. @throws {ProtocolRefusal} `no_such_interrupt` */
  respond(thread: ThreadKey, answers: CommandParams<'input.respond'>, headers: StartHeaders): Promise<ThreadRun>;
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

/** Agents of this version ask by ending their run, and take no messages while they run. */
export const noThreadInput: ThreadInput = {
  respond: () =>
    Promise.reject(
      new ProtocolRefusal(
        'not_supported',
        'runs of this server are not interrupted: an agent that asks ends its run, and run.start answers it',
      ),
    ),
  injectInput: noInjection,
  inject: noInjection,
};
