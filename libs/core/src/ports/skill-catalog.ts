import type { InstalledSkill, SkillCategory } from '@caribou/contracts';

/** A folder with a SKILL.md that the agent may read, as one user has it. */
export interface Skill {
  readonly name: string;
  /** When to use it. Written by whoever made the skill. */
  readonly description: string;
  readonly license: string | null;
  readonly category: SkillCategory;
  /** Virtual path of its SKILL.md. */
  readonly location: string;
  /** Tools it may use once it is asked for by name; null: all. */
  readonly allowedTools: readonly string[] | null;
  readonly enabled: boolean;
  /** The user installed it. */
  readonly editable: boolean;
}

/** All skills of a user by name, those that are switched off included. */
export interface SkillCatalog {
  /** As they are now. @throws {UnavailableError} when the store does not answer */
  skillsOf(userId: string): Promise<readonly Skill[]>;
}

/** What a user has changed and installed. */
export interface UserSkills {
  /** By name; a name that is missing was never switched. */
  readonly states: ReadonlyMap<string, boolean>;
  readonly installed: readonly InstalledSkill[];
}

/** What one user may have installed. */
export interface SkillLimits {
  readonly maxInstalled: number;
  readonly maxBytes: number;
}

/**
 * Keeps what users change and install; every process sees a change at its next look.
 *
 * @throws {UnavailableError} when the store does not answer
 */
export interface SkillStore {
  read(userId: string): Promise<UserSkills>;
  switchTo(userId: string, name: string, enabled: boolean): Promise<void>;
  /** In one step: `taken` when the user has one of this name, `full` when it would be too many or too large. */
  add(userId: string, skill: InstalledSkill, limits: SkillLimits): Promise<'added' | 'taken' | 'full'>;
  /** With its switch. What was removed; null when there is none. */
  remove(userId: string, name: string): Promise<InstalledSkill | null>;
}
