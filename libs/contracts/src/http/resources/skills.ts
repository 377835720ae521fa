import { z } from 'zod';
import { ThreadId } from '../../common/ids.js';
import { SkillCategory } from '../../settings/skills.js';
import { route } from '../route.js';

const group = 'Skills';

const Skill = z.object({
  name: z.string(),
  description: z.string(),
  license: z.string().nullable(),
  category: SkillCategory,
  /** Whether the caller's agents know it and the caller's sandboxes mount it. */
  enabled: z.boolean(),
  /** The caller installed it and may delete it. */
  editable: z.boolean(),
});
export type SkillReply = z.infer<typeof Skill>;

const SkillPath = z.object({ name: z.string().min(1).max(200) });

const list = route({
  name: 'listSkills',
  group,
  method: 'GET',
  path: '/skills',
  summary: "All skills by name: the product's, the operator's and the caller's own.",
  reply: z.object({ skills: z.array(Skill) }),
});

const get = route({
  name: 'getSkill',
  group,
  method: 'GET',
  path: '/skills/:name',
  summary: 'One skill.',
  params: SkillPath,
  reply: Skill,
  refusals: [404],
});

const set = route({
  name: 'setSkill',
  group,
  method: 'PUT',
  path: '/skills/:name',
  summary: 'Switch a skill on or off for the caller, from the next run on.',
  params: SkillPath,
  body: z.object({ enabled: z.boolean() }),
  reply: Skill,
  refusals: [404],
});

const remove = route({
  name: 'deleteSkill',
  group,
  method: 'DELETE',
  path: '/skills/:name',
  summary: 'Delete a skill that the caller installed.',
  params: SkillPath,
  reply: z.object({ success: z.literal(true), message: z.string() }),
  refusals: [404],
});

const InstallReply = z.object({ success: z.literal(true), skill_name: z.string(), message: z.string() });
export type SkillInstallReply = z.infer<typeof InstallReply>;

const install = route({
  name: 'installSkill',
  group,
  method: 'POST',
  path: '/skills/install',
  summary: "Install a skill for the caller from a .skill archive among the files of one of the caller's threads.",
  body: z.object({
    thread_id: ThreadId,
    path: z.string().min(1).max(4_096).describe('Virtual path, such as /mnt/user-data/outputs/x.skill'),
  }),
  reply: InstallReply,
  refusals: [400, 404, 409, 413, 429],
});

const upload = route({
  name: 'uploadSkill',
  group,
  method: 'POST',
  path: '/skills/upload',
  summary:
    'Install a skill for the caller from a .skill archive in the body, with the checks of an archive of a thread.',
  consumes: 'multipart/form-data',
  body: z.object({ file: z.string().meta({ format: 'binary' }) }).optional(),
  reply: InstallReply,
  refusals: [400, 409, 413, 415, 429],
});

export const skillRoutes = { list, get, set, remove, install, upload };
