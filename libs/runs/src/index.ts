export { type LeaseClocks, LeaseKeeper } from './lease-keeper.js';
export { type AgentLoop, RunExecutor } from './run-executor.js';
export { RunRegistry } from './run-registry.js';
export { Sweeper } from './sweeper.js';
export { TurnWorker } from './turn-worker.js';
