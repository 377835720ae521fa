import type { InstalledSkill, SkillCategory } from '@caribou/contracts';

/** A folder with a SKILL.md that the agent may read, with one user's settings. */
export interface Skill {
  readonly name: string;
  /** When to use it; text of the skill's author. */
  readonly description: string;
  readonly license: string | null;
  readonly category: SkillCategory;
  /** Virtual path of its SKILL.md. */
  readonly location: string;
  /** Tools that may be used while the skill is active; null: all. */
  readonly allowedTools: readonly string[] | null;
  readonly enabled: boolean;
  /** The user installed it. */
  readonly editable: boolean;
}

/** All skills of a user, sorted by name, including disabled ones. */
export interface SkillCatalog {
  /** The current skills. @throws {UnavailableError} when the store does not answer */
  skillsOf(userId: string): Promise<readonly Skill[]>;
}

/** A user's switches and installed skills. */
export interface UserSkills {
  /** Enabled or disabled, by name; a missing name was never switched. */
  readonly states: ReadonlyMap<string, boolean>;
  readonly installed: readonly InstalledSkill[];
}

/** Limits of one user's installed skills. */
export interface SkillLimits {
  readonly maxInstalled: number;
  readonly maxBytes: number;
}

/**
 * Stores switches and installed skills of users; every process sees a change at its next read.
 *
 * @throws {UnavailableError} when the store does not answer
 */
export interface SkillStore {
  read(userId: string): Promise<UserSkills>;
  switchTo(userId: string, name: string, enabled: boolean): Promise<void>;
  /** Atomic: `taken` when the user has a skill with this name, `full` when the limits would be exceeded. */
  add(userId: string, skill: InstalledSkill, limits: SkillLimits): Promise<'added' | 'taken' | 'full'>;
  /** Removes the skill with its switch and returns it; null when there is none. */
  remove(userId: string, name: string): Promise<InstalledSkill | null>;
  /**
   * Records that the files of an installed skill are in the object store. False, and nothing is written, when the user has no skill
   * with this name and id, or when its record names a manifest already.
   */
  setManifest(userId: string, skill: Pick<InstalledSkill, 'id' | 'name'>, manifest: string): Promise<boolean>;
  /** The keys of all manifests that records of the user's skills name: what they refer to must stay in the object store. */
  manifestsOf(userId: string): Promise<readonly string[]>;
}
