import type { Skill } from './api.js';

/** Where a skill comes from: the product, the operator's folder, or the person. */
export type SkillOrigin = 'product' | 'operator' | 'own';

export function originOf({ category, editable }: Pick<Skill, 'category' | 'editable'>): SkillOrigin {
  if (editable) return 'own';
  return category === 'public' ? 'product' : 'operator';
}

/** The person's own skills first, each group by name. */
export const sortSkills = (skills: readonly Skill[]): readonly Skill[] =>
  skills.toSorted(
    (one, other) => Number(other.editable) - Number(one.editable) || one.name.localeCompare(other.name, 'en'),
  );

/** Why a file cannot be the archive of a skill; undefined when it may be one. */
export function archiveFault({ name, size }: Pick<File, 'name' | 'size'>): 'name' | 'empty' | undefined {
  if (!name.toLowerCase().endsWith('.skill')) return 'name';
  return size === 0 ? 'empty' : undefined;
}
