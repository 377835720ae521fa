import { type AppError, BugError, DeadlineError, type RpcContract, UnavailableError } from '@caribou/contracts';
import { type CalledExecution, type ExecutionJournal, type Logger, RunDraining, type ThreadKey } from '@caribou/core';
import { z } from 'zod';

export interface ExecutionOutcomesOptions {
  readonly journal: Pick<ExecutionJournal, 'find' | 'withdraw'>;
  /** Whether this process is connected to NATS. */
  readonly isConnected: () => boolean;
  readonly isManagerAlive: (managerId: string) => Promise<boolean>;
  readonly logger: Logger;
}

/** A request that received no reply. */
export interface UnansweredRequest<Reply extends z.ZodType> {
  readonly contract: RpcContract<z.ZodType, Reply>;
  readonly scope: ThreadKey & { readonly epoch: number };
  /** The execution that it requests; absent for a request that changes nothing. */
  readonly execution?: CalledExecution;
}

/** The field that all replies of executions have. */
const Unknown = z.object({ outcome: z.literal('unknown'), reason: z.string() });

const LOST_WITH_MANAGER = 'its sandbox-manager stopped before it could report, and no other could be asked';
const NOT_REPORTED = 'it was started, and its end was not reported';
const WITHDRAWN = 'it was withdrawn before it was started';

/**
 * Determines the outcome of a sandbox call whose manager does not answer.
 *
 * O1 A call that may have been executed is never reported as a plain failure; the journal in the store has its outcome.
 * O2 A plain failure is reported only once the journal refuses to start the call.
 * O3 While this process can reach neither journal nor bus, the run is handed over: another process may reach them.
 */
export class ExecutionOutcomes {
  constructor(private readonly options: ExecutionOutcomesOptions) {}

  /** Returns the recorded reply; undefined when the journal has none or does not answer. */
  async findRecordedReply<Reply extends z.ZodType>(
    request: UnansweredRequest<Reply>,
  ): Promise<{ readonly reply: z.output<Reply> } | undefined> {
    const { execution, contract, scope } = request;
    if (execution === undefined) return undefined;
    try {
      const known = await this.options.journal.find(scope, execution);
      return known.state === 'done' ? { reply: contract.reply.parse(known.result) } : undefined;
    } catch (cause) {
      if (!(cause instanceof UnavailableError)) throw cause;
      this.options.logger.debug({ error: cause, callKey: execution.key }, 'the execution journal did not answer');
      return undefined;
    }
  }

  /**
   * Ends the wait for a reply after `cause`. Returns undefined when the call is being executed and will be reported, so
   * that the caller continues to wait; with `isLate` there is no time for that.
   *
   * @throws {RunDraining} (O3)
   * @throws `cause` when nothing was executed and nothing will be
   */
  async conclude<Reply extends z.ZodType>(
    request: UnansweredRequest<Reply>,
    cause: unknown,
    isLate: boolean,
  ): Promise<{ readonly reply: z.output<Reply> } | undefined> {
    if (!isUncertain(cause)) throw cause;
    if (!this.options.isConnected())
      throw new RunDraining('run is handed over: this process has no connection to NATS', { cause });
    const { execution, scope, contract } = request;
    if (execution === undefined) throw cause;
    const known = await this.withdraw(scope, execution);
    if (known.state === 'withdrawn') throw notStarted(cause);
    if (known.state === 'mismatch') throw cause;
    if (known.state === 'done') return { reply: contract.reply.parse(known.result) };
    if (isLate || cause instanceof BugError) return { reply: unknown(contract, NOT_REPORTED) };
    return (await this.isAlive(known.managerId)) ? undefined : { reply: unknown(contract, LOST_WITH_MANAGER) };
  }

  private async withdraw(
    scope: UnansweredRequest<z.ZodType>['scope'],
    execution: CalledExecution,
  ): ReturnType<ExecutionJournal['withdraw']> {
    const result: z.infer<typeof Unknown> = { outcome: 'unknown', reason: WITHDRAWN };
    try {
      return await this.options.journal.withdraw(scope, execution, result);
    } catch (cause) {
      if (!(cause instanceof UnavailableError)) throw cause;
      throw new RunDraining('run is handed over: the execution journal does not answer', { cause });
    }
  }

  /** While the store does not answer, the manager counts as alive. */
  private async isAlive(managerId: string): Promise<boolean> {
    try {
      return await this.options.isManagerAlive(managerId);
    } catch (cause) {
      if (!(cause instanceof UnavailableError)) throw cause;
      return true;
    }
  }
}

const unknown = <Reply extends z.ZodType>(contract: RpcContract<z.ZodType, Reply>, reason: string): z.output<Reply> =>
  contract.reply.parse({ outcome: 'unknown', reason } satisfies z.infer<typeof Unknown>);

/** Marks the failure as one that had no effect. */
function notStarted(cause: unknown): unknown {
  const text = (error: AppError): string => `${error.message}; nothing was started`;
  if (cause instanceof DeadlineError) return new DeadlineError(text(cause), { cause, details: cause.details });
  if (cause instanceof UnavailableError) return new UnavailableError(text(cause), { cause, details: cause.details });
  return cause;
}

/** Dependencies whose failure allows a repetition of the call: the bus, the store, or a manager that is stopping. */
const RETRYABLE_DEPENDENCIES: readonly unknown[] = ['nats', 'redis', 'sandbox-manager'];

/** The manager's lease expired while its reply was awaited, or the thread's sandbox now belongs to another manager. */
export class ManagerGone extends UnavailableError {}

/**
 * Whether the call may be repeated with the same key: nobody answered, the receiver could not reach the store, or it
 * accepts no more calls.
 */
export const isAway = (cause: unknown): boolean =>
  cause instanceof UnavailableError && RETRYABLE_DEPENDENCIES.includes(cause.details['dependency']);

/** Failures after which the call may have been executed; all others are a manager's refusal to start it. */
const isUncertain = (cause: unknown): boolean =>
  isAway(cause) || cause instanceof DeadlineError || cause instanceof BugError;
