import { RunCancelled, type SandboxScope } from '@caribou/core';

/** A command that its caller waits for, with the key by which it is cancelled. */
export interface KeyedJob {
  readonly scope: SandboxScope;
  readonly key: string;
  readonly signal: AbortSignal;
}

interface Command extends Pick<KeyedJob, 'scope' | 'signal'> {
  /** The call, which settles soon after the signal aborts. */
  readonly over: Promise<unknown>;
}

/**
 * The commands that this process waits for. A command of a cancelled run is cancelled while the run still owns its
 * thread, because a manager refuses a cancel afterwards.
 */
export class CommandsInFlight {
  private readonly commands = new Set<Command>();

  /** @param cancel requests the manager to end the command of a cancelled run */
  constructor(private readonly cancel: (job: KeyedJob) => Promise<void>) {}

  /** Waits for `work`; when its run is cancelled, the command's cancel is sent before this rejects. */
  async follow<T>(job: KeyedJob, work: Promise<T>): Promise<T> {
    const over = this.cancelWithRun(job, work);
    const command: Command = { scope: job.scope, signal: job.signal, over };
    this.commands.add(command);
    try {
      return await over;
    } finally {
      this.commands.delete(command);
    }
  }

  /** Resolves when the scope's aborted commands have ended or their cancels were sent. */
  async waitForEndingCommands(scope: SandboxScope): Promise<void> {
    const ending = [...this.commands].filter((command) => command.signal.aborted && isSame(command.scope, scope));
    await Promise.allSettled(ending.map(({ over }) => over));
  }

  private async cancelWithRun<T>(job: KeyedJob, work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (cause) {
      if (job.signal.reason instanceof RunCancelled) await this.cancel(job);
      throw cause;
    }
  }
}

const isSame = (one: SandboxScope, other: SandboxScope): boolean =>
  one.userId === other.userId && one.threadId === other.threadId && one.epoch === other.epoch;
