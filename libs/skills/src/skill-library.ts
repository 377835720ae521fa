import type { Clock, Logger } from '@caribou/core';
import { findSkills, type FoundSkill } from './skill-tree.js';

export interface SkillLibraryOptions {
  /** Folder with the subfolders `public` and `custom`. */
  readonly root: string;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly logger: Logger;
  /** How long the result is cached, in milliseconds; default 5 s. */
  readonly cacheMs?: number;
}

const CACHE_MS = 5_000;
const MAX_REPORTED = 1_000;

/** The skills for all users, from the built-in or the operator's folder, which is read again on demand. */
export class SkillLibrary {
  private found: Promise<readonly FoundSkill[]> | undefined;
  private foundAtMs = 0;
  private readonly reported = new Set<string>();

  constructor(private readonly options: SkillLibraryOptions) {}

  /** Lists skills sorted by name; of duplicates the first in order of directories, `public` before `custom`. */
  async skills(): Promise<readonly FoundSkill[]> {
    const nowMs = this.options.clock.monotonicMs();
    if (this.found !== undefined && nowMs - this.foundAtMs < (this.options.cacheMs ?? CACHE_MS)) return this.found;
    const previous = this.found;
    this.foundAtMs = nowMs;
    this.found = this.search().catch((error: unknown) => this.fallBackTo(previous, error));
    return this.found;
  }

  private async search(): Promise<readonly FoundSkill[]> {
    const { root } = this.options;
    const onSkipped = (directory: string, reason: string): void => this.reportOnce(directory, reason);
    const all = [...(await findSkills(root, 'public', onSkipped)), ...(await findSkills(root, 'custom', onSkipped))];
    const byName = new Map<string, FoundSkill>();
    for (const skill of all) {
      const first = byName.get(skill.name);
      if (first === undefined) byName.set(skill.name, skill);
      else onSkipped(skill.directory, `its name is that of ${first.directory}`);
    }
    return [...byName.values()].sort((left, right) => (left.name < right.name ? -1 : 1));
  }

  /** Returns the previous skills when the folder cannot be read, so that runs do not fail. */
  private async fallBackTo(
    previous: Promise<readonly FoundSkill[]> | undefined,
    error: unknown,
  ): Promise<readonly FoundSkill[]> {
    const { logger, root } = this.options;
    logger.error(
      { event: 'skills.read', outcome: 'error', path: root, error },
      'the folder of skills could not be read',
    );
    return (await previous) ?? [];
  }

  /** Logs each reason once, because the folder is read again and again. */
  private reportOnce(directory: string, reason: string): void {
    const line = `${directory}: ${reason}`;
    if (this.reported.has(line) || this.reported.size >= MAX_REPORTED) return;
    this.reported.add(line);
    this.options.logger.warn({ event: 'skill.skip', path: directory, reason }, 'an invalid skill is skipped');
  }
}
