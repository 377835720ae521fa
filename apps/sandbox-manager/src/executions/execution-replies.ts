import { FencedError, UnavailableError } from '@caribou/contracts';
import type { Clock, ExecutionEntry, ExecutionJournal, ExecutionState } from '@caribou/core';
import type { Execution } from './execution.js';
import { type FinishedExecutions, createArgumentsConflict } from './finished-executions.js';

export interface ExecutionRepliesOptions {
  readonly journal: ExecutionJournal;
  /** What this process has executed (E8). */
  readonly finished: Pick<FinishedExecutions, 'add' | 'find'>;
  readonly lease: { readonly managerId: string };
  readonly clock: Clock;
}

const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 2000;
const LOST_WITH_MANAGER = 'the sandbox-manager that ran this stopped before it could report; it may have had effects';

/** Looks replies up in the journal and writes new ones to it, by the rules E1, E3, E6 and E8 of the executor. */
export class ExecutionReplies {
  constructor(private readonly options: ExecutionRepliesOptions) {}

  /** The known reply, without an entry in the journal; undefined when the execution may begin. */
  async peek<Reply>(job: Execution<Reply>): Promise<{ readonly reply: Reply } | undefined> {
    return this.findKnown(job, await this.options.journal.peek(job.thread, this.entryOf(job)));
  }

  /** The known reply; undefined when the execution may begin, which the journal has then recorded. */
  async start<Reply>(job: Execution<Reply>): Promise<{ readonly reply: Reply } | undefined> {
    return this.findKnown(job, await this.options.journal.start(job.thread, this.entryOf(job)));
  }

  /**
   * (E1, E6, E8) The reply that follows from the state in the journal. Declares the outcome of a lost execution
   * unknown.
   */
  private async findKnown<Reply>(
    job: Execution<Reply>,
    state: ExecutionState,
  ): Promise<{ readonly reply: Reply } | undefined> {
    const by = this.options.lease.managerId;
    if (state.state === 'new' || (state.state === 'running' && state.managerId === by)) return undefined;
    if (state.state === 'mismatch') throw createArgumentsConflict(job.key);
    if (state.state === 'done') return { reply: job.parse(state.result) };
    const executed = this.options.finished.find(job)?.reply ?? job.unknown(LOST_WITH_MANAGER);
    const lost = { startedBy: state.managerId, by, result: executed };
    const { result } = await this.options.journal.markUnknown(job.thread, job.key, lost);
    return { reply: job.parse(result) };
  }

  /**
   * (E3) Writes a new reply to the journal, and retries until the journal has accepted it.
   *
   * @throws {FencedError} when another manager has declared the outcome unknown
   */
  async store<Reply>(job: Execution<Reply>, reply: Reply): Promise<Reply> {
    const { journal, lease, clock } = this.options;
    for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(2 * delayMs, LONGEST_RETRY_MS)) {
      try {
        await journal.finish(job.thread, job.key, { managerId: lease.managerId, result: reply });
        return reply;
      } catch (error) {
        if (error instanceof FencedError && (await this.wasLost(job))) continue;
        if (!(error instanceof UnavailableError)) throw error;
        await clock.sleep(delayMs);
      }
    }
  }

  /** (E8) Whether the journal had lost the execution's entry, which is then written again. */
  private async wasLost(job: Execution<unknown>): Promise<boolean> {
    return (await this.options.journal.start(job.thread, this.entryOf(job))).state === 'new';
  }

  private entryOf({ key, argsHash, kind, epoch, sandboxId }: Execution<unknown>): ExecutionEntry {
    return { key, argsHash, kind, epoch, managerId: this.options.lease.managerId, sandboxId };
  }
}
