import { z } from 'zod';

const MAX_NAME_CHARS = 64;
const MAX_DESCRIPTION_CHARS = 1_024;

/** Name of a skill: also a directory's name and a command after a slash. */
export const SkillName = z
  .string()
  .max(MAX_NAME_CHARS, `must have at most ${MAX_NAME_CHARS} characters`)
  .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be lower-case letters and digits, with single hyphens between them');

/** When a skill is for; it stands in the prompt, so it may not look like a tag. */
export const SkillDescription = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(MAX_DESCRIPTION_CHARS, `must have at most ${MAX_DESCRIPTION_CHARS} characters`)
  .regex(/^[^<>]*$/, 'must not hold "<" or ">"');

/** Names of the tools that a skill may use once it is asked for; null: all. */
export const AllowedTools = z.array(z.string().min(1).max(128)).max(200).nullable();

/** `public`: comes with the product or the operator's folder; `custom`: somebody's own. */
export const SkillCategory = z.enum(['public', 'custom']);
export type SkillCategory = z.infer<typeof SkillCategory>;

/** A skill that a user installed, as it is kept. */
export const InstalledSkill = z.object({
  /** Of this installation: its files lie under it, and never change. */
  id: z.uuid(),
  name: SkillName,
  description: SkillDescription,
  license: z.string().nullable(),
  allowed_tools: AllowedTools,
  /** Of all its files. */
  bytes: z.int().min(0),
  installed_at: z.string(),
});
export type InstalledSkill = z.infer<typeof InstalledSkill>;
