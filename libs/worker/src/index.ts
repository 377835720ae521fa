export { runFromHead, toolFacts, type ToolOffer, toolOffer } from './agent-assembly.js';
export type { AgentRole, OpenRole, WorkerBase } from './agent-role.js';
export type { AgentTools } from './agent-tools.js';
export { type Connections, openConnections } from './connections.js';
export { runAgentWorker } from './run-agent-worker.js';
