export { type Followed, type FollowPorts, patiently, RunFollower } from './follow-run.js';
export type { AfterCancel } from './run-endings.js';
export { type AgentLoop, RunExecutor } from './run-executor.js';
export { RunRegistry } from './run-registry.js';
export { Sweeper } from './sweeper.js';
export { TurnWorker } from './turn-worker.js';
