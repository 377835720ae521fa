import { AppError } from '@caribou/contracts';
import { type Clock, type Logger, repeatUntilAborted, type SkillStore } from '@caribou/core';
import { sweepSkills } from '@caribou/files';

export interface SkillSweeperOptions {
  /** CARIBOU_HOME. */
  readonly homeDir: string;
  readonly store: Pick<SkillStore, 'read'>;
  readonly everyMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Removes copies of skills that no longer exist from this machine's disk, from time to time. */
export class SkillSweeper {
  private readonly stopping = new AbortController();
  private loop: Promise<void> = Promise.resolve();

  constructor(private readonly options: SkillSweeperOptions) {}

  start(): void {
    const { clock, everyMs } = this.options;
    this.loop = repeatUntilAborted({ clock, everyMs, signal: this.stopping.signal }, () => this.sweep());
  }

  /** Ends the removals; resolves when the current one has finished. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.loop;
  }

  /** Never rejects, because a failed removal must not end the loop. */
  private async sweep(): Promise<void> {
    const { homeDir, store, logger } = this.options;
    const idsOf = async (userId: string): Promise<ReadonlySet<string>> =>
      new Set((await store.read(userId)).installed.map(({ id }) => id));
    try {
      await sweepSkills({ homeDir, idsOf, signal: this.stopping.signal });
    } catch (error) {
      const level = error instanceof AppError && error.expected ? 'warn' : 'error';
      logger[level]({ event: 'skill.sweep', outcome: 'error', error }, 'copies of skills were not removed');
    }
  }
}
