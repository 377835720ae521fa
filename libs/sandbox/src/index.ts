export { BwrapDriver } from './bwrap-driver.js';
export { chooseAmong, type SandboxDrivers, sandboxDrivers } from './choose-driver.js';
export { DockerDriver } from './docker-driver.js';
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
} from './driver.js';
export { type ErasedFiles, erasedFiles } from './erased-files.js';
export { fileHash, sha256Of } from './file-hash.js';
export { type FileRefusal, FileRefusedError, QuotaExceededError } from './file-refused.js';
export {
  findFiles,
  type Found,
  listDirectory,
  type LookupPlace,
  searchLines,
} from './find-files.js';
export { commandIdentity } from './identity.js';
export { withinQuota } from './quota-driver.js';
export type { SandboxNetwork } from './sandbox-network.js';
export { sandboxIdOf } from './sandbox-id.js';
export { DEFAULT_SANDBOX_LIMITS, type SandboxSettings } from './settings.js';
export { occurrences, replaceAt } from './text-edit.js';
export { MAX_TEXT_FILE_BYTES, readTextRange } from './text-range.js';
export { type SkillFiles, skillFiles, type SkillStaging } from './skill-files.js';
export { SkillViews } from './skill-views.js';
export { type ThreadFiles, threadFiles } from './thread-files.js';
export type { FileEntry, StagedFile } from './upload-intake.js';
export { readUpTo } from './replace-text.js';
export { SharedVolume } from './shared-volume.js';
export { type UserFiles, userFiles } from './user-files.js';
export { WorkspaceQuota } from './workspace-quota.js';
