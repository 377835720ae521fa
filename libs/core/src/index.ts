export { applyUpdate, EMPTY_STATE, isEmptyUpdate, joinUpdates, messageIdOr } from './agent-state.js';
export type { LoopHost, LoopOutcome, LoopPosition, TurnCommit } from './agent-runtime.js';
export { type Clock, systemClock } from './clock.js';
export { type LogFields, type Logger, silentLogger } from './logger.js';
export type { AgentMiddleware, ModelCallNext, ModelRequest, Step, ToolCallNext, ToolCallRequest } from './middleware.js';
export type { ModelCall, ModelCatalog, ModelDelta, ModelPort, ModelTool } from './model-port.js';
export type { RunContext } from './run-context.js';
export type {
  AdmitRequest,
  AdmitResult,
  CancelResult,
  ClaimResult,
  CommitRequest,
  CommitResult,
  EndedRun,
  FinishRequest,
  FinishResult,
  RunLease,
  RunStore,
  ThreadHead,
  ThreadKey,
} from './run-store.js';
export {
  type ExecOutcome,
  type ReadOutcome,
  RunCancelled,
  RunDraining,
  RunLost,
  type SandboxPort,
  type SandboxScope,
  type WriteOutcome,
} from './sandbox-port.js';
export type { HistoryQuery, RunEventLog, RunQuery, ThreadSearch, ThreadStore } from './thread-store.js';
export { type AnyTool, defineTool, type Tool, type ToolContext, type ToolOutcome } from './tool.js';
export type {
  ExecutionEntry,
  ExecutionJournal,
  ExecutionState,
  LostExecution,
  SandboxDriverKind,
  SandboxProposal,
  SandboxRecord,
  SandboxRegistry,
  SandboxThread,
} from './sandbox-journal.js';
export {
  DATA_DIRECTORIES,
  type DataDirectory,
  formatVirtualPath,
  MAX_PATH_BYTES,
  parseVirtualPath,
  SKILLS_ROOT,
  VIRTUAL_ROOT,
  type VirtualPath,
} from './virtual-path.js';
