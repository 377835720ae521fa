export { chooseAmong, createDriver, isAllowedDriver, type SandboxDrivers, sandboxDrivers } from './choose-driver.js';
export {
  type SandboxCommand,
  SandboxGoneError,
  type SandboxInfo,
  type CommandResult,
  type SandboxSpec,
  MAX_COMMAND_BYTES,
  type Probe,
  type SandboxDriver,
} from './drivers/driver.js';
export { HttpAgentClient } from './kubernetes/agent/http-agent-client.js';
export { sandboxIdOf } from './drivers/sandbox-id.js';
export { identifyFile, isRefused, type ManagerRecord, ManagerRecords } from './managers/manager-records.js';
export { releaseUsersOf } from './drivers/sandbox-users.js';
export { LeaseGuard } from './managers/lease-guard.js';
export { prepareRunDirectory } from './drivers/run-directory.js';
export type { SandboxNetwork } from './drivers/sandbox-network.js';
export { type SandboxSettings, sandboxSettings } from './drivers/settings.js';
export { withinQuota } from './quota-driver.js';
