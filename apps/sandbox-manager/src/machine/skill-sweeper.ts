import { AppError } from '@caribou/contracts';
import { type Clock, type Logger, RepeatedTask, type SkillStore } from '@caribou/core';
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
export function createSkillSweeper({ homeDir, store, everyMs, clock, logger }: SkillSweeperOptions): RepeatedTask {
  const idsOf = async (userId: string): Promise<ReadonlySet<string>> =>
    new Set((await store.read(userId)).installed.map(({ id }) => id));
  return new RepeatedTask({
    clock,
    everyMs,
    work: (signal) => sweepSkills({ homeDir, idsOf, signal }),
    onFailure: (error) => {
      const level = error instanceof AppError && error.expected ? 'warn' : 'error';
      logger[level]({ event: 'skill.sweep', outcome: 'error', error }, 'copies of skills were not removed');
    },
  });
}
