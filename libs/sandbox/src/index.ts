export { BwrapDriver } from './bwrap-driver.js';
export { chooseAmong, type SandboxDrivers, sandboxDrivers } from './choose-driver.js';
export { DockerDriver } from './docker-driver.js';
export {
  type BoxCommand,
  BoxGoneError,
  type BoxInfo,
  type BoxResult,
  type BoxSpec,
  type EndedBy,
  MAX_COMMAND_BYTES,
  type Probe,
  type SandboxDriver,
} from './driver.js';
export { type FileRefusal, FileRefusedError } from './file-refused.js';
export { type CommandIdentity, commandIdentity, KEEPER } from './identity.js';
export { sandboxIdOf } from './sandbox-id.js';
export { DEFAULT_SANDBOX_IMAGE, DEFAULT_SANDBOX_LIMITS, type SandboxLimits, type SandboxSettings } from './settings.js';
export { type LineRange, MAX_TEXT_FILE_BYTES, readTextRange, type TextRange } from './text-range.js';
export { MAX_FILE_BYTES, type ThreadFiles, threadFiles } from './thread-files.js';
