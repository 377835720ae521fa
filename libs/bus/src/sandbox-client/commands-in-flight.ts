import { RunCancelled, type SandboxScope } from '@caribou/core';

/** A command that its caller waits for, under the key that ends it. */
export interface KeyedJob {
  readonly scope: SandboxScope;
  readonly key: string;
  readonly signal: AbortSignal;
}

interface Command extends Pick<KeyedJob, 'scope' | 'signal'> {
  /** Settles soon after the signal. */
  readonly over: Promise<unknown>;
}

/**
 * The commands this process waits for. One of a cancelled run is told to end while the run still owns its thread: a
 * manager refuses a cancel afterwards.
 */
export class CommandsInFlight {
  private readonly commands = new Set<Command>();

  /** @param cancel tells the manager to end the command of a cancelled run */
  constructor(private readonly cancel: (job: KeyedJob) => Promise<void>) {}

  /** Waits for `work`; when its run is cancelled, the command is told so before this rejects. */
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

  /** Resolves when the scope's commands that are ending have ended or been told to. */
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
