export { BwrapDriver } from './bwrap/bwrap-driver.js';
export { chooseAmong, type SandboxDrivers, sandboxDrivers } from './choose-driver.js';
export { DockerDriver } from './docker/docker-driver.js';
export {
  type BoxCommand,
  BoxGoneError,
  type BoxInfo,
  type BoxResult,
  type BoxSpec,
  MAX_COMMAND_BYTES,
  type OutputListener,
  type Probe,
  type SandboxDriver,
} from './drivers/driver.js';
export { type ErasedFiles, erasedFiles } from './files/erased-files.js';
export { fileHash, sha256Of } from './files/file-hash.js';
export { type FileRefusal, FileRefusedError, QuotaExceededError } from './files/file-refused.js';
export {
  findFiles,
  type Found,
  listDirectory,
  type LookupPlace,
  searchLines,
} from './files/lookup/find-files.js';
export { commandIdentity } from './files/identity.js';
export { withinQuota } from './quota-driver.js';
export type { SandboxNetwork } from './drivers/sandbox-network.js';
export { sandboxIdOf } from './drivers/sandbox-id.js';
export { DEFAULT_SANDBOX_LIMITS, type SandboxSettings } from './drivers/settings.js';
export { occurrences, replaceAt } from './files/text/text-edit.js';
export { MAX_TEXT_FILE_BYTES, readTextRange } from './files/text/text-range.js';
export { type SkillFiles, skillFiles, type SkillStaging } from './files/skills/skill-files.js';
export { SkillViews } from './files/skills/skill-views.js';
export { type ThreadFiles, threadFiles } from './files/thread-files.js';
export type { FileEntry, StagedFile } from './files/uploads/upload-intake.js';
export { readUpTo } from './files/text/replace-text.js';
export { SharedVolume } from './files/shared-volume.js';
export { type UserFiles, userFiles } from './files/uploads/user-files.js';
export { WorkspaceQuota } from './files/quota/workspace-quota.js';
