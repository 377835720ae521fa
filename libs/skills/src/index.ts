export { OperatorSwitches } from './operator-switches.js';
export { SkillLibrary } from './skill-library.js';
export { SkillRejectedError } from './skill-rejected.js';
export { unpackSkill } from './unpack-skill.js';
export { type LocatedSkill, UserSkillCatalog } from './user-skill-catalog.js';
