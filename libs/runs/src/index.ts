export { type Followed, type FollowPorts, patiently, RunFollower } from './follow-run.js';
export type { AfterCancel } from './run-endings.js';
export { type AgentLoop, RunExecutor } from './run-executor.js';
export { RunRegistry } from './run-registry.js';
export { Sweeper } from './sweeper.js';
export { TurnWorker } from './turn-worker.js';
export { endTasksOf } from './tasks/cancelled-tasks.js';
export { SubagentTasks } from './tasks/subagent-tasks.js';
export { outcomeOf as taskOutcomeOf, taskSpecOf } from './tasks/task-outcome.js';
