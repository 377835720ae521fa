import { type InstalledSkill, omitUndefined } from '@caribou/contracts';
import { memoize, type Skill, type SkillCatalog, SKILLS_ROOT, type SkillStore, type UserSkills } from '@caribou/core';
import type { OperatorSwitches, Switches } from './operator-switches.js';
import type { SkillLibrary } from './skill-library.js';
import { type FoundSkill, SKILL_FILE } from './skill-tree.js';

/** The location of a skill's files. */
export type SkillSource =
  | { readonly kind: 'folder'; readonly directory: string; readonly fingerprint: string }
  /** Installed by the user. */
  | {
      readonly kind: 'installed';
      readonly id: string;
      /** Size of all its files. */
      readonly bytes: number;
      /** Key of the manifest of its files in the object store; absent while they are only on a data volume. */
      readonly manifest?: string;
    };

/** A skill with the internal information that is needed to mount it. */
export interface LocatedSkill {
  readonly skill: Skill;
  /** Path segments of its directory below the mount of skills. */
  readonly place: readonly string[];
  readonly source: SkillSource;
}

export interface CatalogParts {
  readonly library: Pick<SkillLibrary, 'skills'>;
  readonly operator: Pick<OperatorSwitches, 'read'>;
  readonly store: Pick<SkillStore, 'read'>;
}

/**
 * The skills of a user: the shared ones and the user's own. Names are unique; the user's own skills take precedence. A
 * skill is enabled unless the user, or else the operator, switched it off.
 */
export class UserSkillCatalog implements SkillCatalog {
  constructor(private readonly parts: CatalogParts) {}

  async skillsOf(userId: string): Promise<readonly Skill[]> {
    return skillsIn(await this.listLocated(userId));
  }

  /** Lists skills sorted by name, including disabled ones. @throws {UnavailableError} when the store does not answer */
  async listLocated(userId: string): Promise<readonly LocatedSkill[]> {
    const { library, operator, store } = this.parts;
    const [found, defaults, user] = await Promise.all([library.skills(), operator.read(), store.read(userId)]);
    return merged(found)(defaults)(user);
  }
}

const skillsIn = memoize((located: readonly LocatedSkill[]): readonly Skill[] => located.map(({ skill }) => skill));

/** Users without skills of their own share one list. */
const merged = memoize((found: readonly FoundSkill[]) =>
  memoize((defaults: Switches) => memoize((user: UserSkills) => mergeSkills(found, user, defaults))),
);

function mergeSkills(found: readonly FoundSkill[], user: UserSkills, defaults: Switches): readonly LocatedSkill[] {
  const isOn = (name: string): boolean => user.states.get(name) ?? defaults.get(name) ?? true;
  const own = user.installed.map((skill) => fromInstalled(skill, isOn(skill.name)));
  const taken = new Set(user.installed.map(({ name }) => name));
  const shared = found
    .filter(
      ({ name, category, segments }) => !taken.has(name) && !(category === 'custom' && taken.has(segments[0] ?? '')),
    )
    .map((skill) => fromFolder(skill, isOn(skill.name)));
  return [...own, ...shared].sort((left, right) => (left.skill.name < right.skill.name ? -1 : 1));
}

const locationOf = (place: readonly string[]): string => [SKILLS_ROOT, ...place, SKILL_FILE].join('/');

function fromInstalled(
  { id, name, description, license, allowed_tools, bytes, manifest }: InstalledSkill,
  enabled: boolean,
): LocatedSkill {
  const place = ['custom', name];
  return {
    skill: {
      name,
      description,
      license,
      enabled,
      allowedTools: allowed_tools,
      category: 'custom',
      location: locationOf(place),
      editable: true,
    },
    place,
    source: { kind: 'installed', id, bytes, ...omitUndefined({ manifest }) },
  };
}

function fromFolder(
  { name, description, license, allowedTools, category, segments, directory, fingerprint }: FoundSkill,
  enabled: boolean,
): LocatedSkill {
  const place = [category, ...segments];
  return {
    skill: {
      name,
      description,
      license,
      enabled,
      allowedTools,
      category,
      location: locationOf(place),
      editable: false,
    },
    place,
    source: { kind: 'folder', directory, fingerprint },
  };
}
