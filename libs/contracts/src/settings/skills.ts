import { z } from 'zod';

const MAX_NAME_CHARS = 64;
const MAX_DESCRIPTION_CHARS = 1_024;
/** Longest key of an object store. */
const MAX_KEY_CHARS = 512;

/** Name of a skill, also used as a directory name and as a slash command. */
export const SkillName = z
  .string()
  .max(MAX_NAME_CHARS, `must have at most ${MAX_NAME_CHARS} characters`)
  .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be lower-case letters and digits, with single hyphens between them');

/** When to use a skill; it is part of the prompt, so it must not contain tags. */
export const SkillDescription = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(MAX_DESCRIPTION_CHARS, `must have at most ${MAX_DESCRIPTION_CHARS} characters`)
  .regex(/^[^<>]*$/, 'must not hold "<" or ">"');

/** Names of the tools that may be used while the skill is active; null: all. */
export const AllowedTools = z.array(z.string().min(1).max(128)).max(200).nullable();

/** `public`: from the product or the operator's folder; `custom`: installed by a user. */
export const SkillCategory = z.enum(['public', 'custom']);
export type SkillCategory = z.infer<typeof SkillCategory>;

/** The stored record of a skill that a user installed. */
export const InstalledSkill = z.object({
  /** Id of this installation of the skill; its files are stored under the id and never change. */
  id: z.uuid(),
  name: SkillName,
  description: SkillDescription,
  license: z.string().nullable(),
  allowed_tools: AllowedTools,
  /** Total size of its files. */
  bytes: z.int().min(0),
  /** Hash of its files with their paths; absent in records of earlier versions. */
  content_sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  installed_at: z.string(),
  /** Key of the manifest of its files in the object store; absent while they are only on a data volume. */
  manifest: z.string().min(1).max(MAX_KEY_CHARS).optional(),
});
export type InstalledSkill = z.infer<typeof InstalledSkill>;
