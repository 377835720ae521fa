import type { Clock, Logger } from '@caribou/core';
import { findSkills, type FoundSkill } from './skill-tree.js';

export interface SkillLibraryOptions {
  /** Folder with `public` and `custom` in it. */
  readonly root: string;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly logger: Logger;
  /** How long what was found counts, in milliseconds; default 5 s. */
  readonly freshMs?: number;
}

const FRESH_MS = 5_000;
const MAX_TOLD = 1_000;

/** The skills of the product's or the operator's folder, for all users; looked for again when they are asked for. */
export class SkillLibrary {
  private found: Promise<readonly FoundSkill[]> | undefined;
  private foundAtMs = 0;
  private readonly told = new Set<string>();

  constructor(private readonly options: SkillLibraryOptions) {}

  /** By name, each once: of several of one name the first in order of directories, `public` before `custom`. */
  async skills(): Promise<readonly FoundSkill[]> {
    const nowMs = this.options.clock.monotonicMs();
    if (this.found !== undefined && nowMs - this.foundAtMs < (this.options.freshMs ?? FRESH_MS)) return this.found;
    const before = this.found;
    this.foundAtMs = nowMs;
    this.found = this.look().catch((error: unknown) => this.asBefore(before, error));
    return this.found;
  }

  private async look(): Promise<readonly FoundSkill[]> {
    const { root } = this.options;
    const leftOut = (directory: string, reason: string): void => this.tell(directory, reason);
    const all = [...(await findSkills(root, 'public', leftOut)), ...(await findSkills(root, 'custom', leftOut))];
    const byName = new Map<string, FoundSkill>();
    for (const skill of all) {
      const first = byName.get(skill.name);
      if (first === undefined) byName.set(skill.name, skill);
      else leftOut(skill.directory, `its name is that of ${first.directory}`);
    }
    return [...byName.values()].sort((left, right) => (left.name < right.name ? -1 : 1));
  }

  /** A folder that cannot be read leaves the skills that were there: a run does not depend on it. */
  private async asBefore(
    before: Promise<readonly FoundSkill[]> | undefined,
    error: unknown,
  ): Promise<readonly FoundSkill[]> {
    const { logger, root } = this.options;
    logger.error(
      { event: 'skills.look', outcome: 'error', path: root, error },
      'the folder of skills could not be read',
    );
    return (await before) ?? [];
  }

  /** Once for each reason: the folder is looked at again and again. */
  private tell(directory: string, reason: string): void {
    const line = `${directory}: ${reason}`;
    if (this.told.has(line) || this.told.size >= MAX_TOLD) return;
    this.told.add(line);
    this.options.logger.warn({ event: 'skill.left-out', path: directory, reason }, 'a skill is left out');
  }
}
