export { openSkillCatalog } from './open-catalog.js';
export { openZip } from './open-zip.js';
export { SkillRejectedError } from './skill-rejected.js';
export { type UnpackedSkill, unpackSkill } from './unpack-skill.js';
export type { UserSkillCatalog } from './user-skill-catalog.js';
