export type {
  AccountStore,
  ChangeOutcome,
  CreateOutcome,
  NewSession,
  SessionHolder,
  SessionKey,
  StoredAccount,
} from './account-store.js';
export { BeingErasedError, type Erasure, type ErasureStore } from './erasure-store.js';
export type { Locks } from './locks.js';
export { openCallsOf, withoutLateAnswers } from './client-answers.js';
export { activeSkill, allowedTools } from './active-skill.js';
export { agentFault, BOOTSTRAP_SKILL, type KnownToAgents, skillsOfAgent } from './agent-rules.js';
export type { AgentStore, AgentWrite, AgentWriteOutcome, StoredAgent } from './agent-store.js';
export { applyUpdate, clientUpdate, isEmptyUpdate, joinUpdates } from './agent-state.js';
export type { LoopHost, LoopOutcome, LoopPosition, TurnCommit, TurnUsage } from './agent-runtime.js';
export type { AttemptLimit, AttemptStore } from './attempt-store.js';
export { callOnce, unknownOutcome } from './call-once.js';
export { type Clock, systemClock } from './clock.js';
export { settledWithin } from './settled-within.js';
export type {
  Companion,
  ConversionLease,
  ConversionRecord,
  ConversionStore,
  FileVersion,
  PendingConversion,
  UploadKey,
} from './conversion-store.js';
export { fileMark, lastSeen } from './file-mark.js';
export { isFinalAnswer } from './final-answer.js';
export { defuseFrameworkTags, escapeMarkup } from './framework-tags.js';
export { GatheredWrites } from './gathered-writes.js';
export { type Logger, silentLogger } from './logger.js';
export type {
  JobProgress,
  MemoryJob,
  MemoryJobKey,
  MemoryJobs,
  MemoryLease,
  MemoryUpdate,
  NumberedMessage,
} from './memory-jobs.js';
export type {
  DeadMemoryJob,
  MemoryChange,
  MemoryDifference,
  MemoryScope,
  MemoryStatus,
  MemoryStore,
  MemoryWrite,
  QuarantinedMemory,
  StoredMemory,
} from './memory-store.js';
export type {
  AgentMiddleware,
  CallUsage,
  ModelCallNext,
  ModelRequest,
  Step,
  ToolCallNext,
  ToolCallRequest,
} from './middleware.js';
export type { CallOutcome, CallPass, Entry, ModelEndpoint, ModelGate } from './model-gate.js';
export type { ModelCall, ModelCatalog, ModelDelta, ModelPort } from './model-port.js';
export { isFromPerson, wordsOf } from './person-words.js';
export type { RunContext } from './run-context.js';
export type { CallWatch, HookWatch, RunWatch, Span, WatchFields } from './run-watch.js';
export type {
  AdmitRequest,
  AdmitResult,
  CancelResult,
  ClaimResult,
  CommitRequest,
  CommitResult,
  DeadLetter,
  EndedRun,
  FinishRequest,
  FinishResult,
  RunLease,
  RunStore,
  RawRecord,
  ThreadHead,
  ThreadKey,
  UnownedThread,
} from './run-store.js';
export {
  type BytesOutcome,
  type EditOutcome,
  type ExecOutcome,
  type FoundOutcome,
  type GrepOutcome,
  type ReadOutcome,
  RunCancelled,
  RunDraining,
  RunLost,
  RunTimedOut,
  type SandboxPort,
  type SandboxScope,
  type WriteOutcome,
} from './sandbox-port.js';
export type { SharedDocuments } from './shared-documents.js';
export type { SafeFetch } from './safe-fetch.js';
export type { Skill, SkillCatalog, SkillLimits, SkillStore, UserSkills } from './skill-catalog.js';
export { splitSkillFile } from './skill-text.js';
export { runSlot, stateSlot } from './state-slot.js';
export type { AskedTask, SubagentPort, SubagentType, TaskOutcome } from './subagent-port.js';
export type { ParentStanding, SlotLimits, TaskParent, TaskSlot, TaskSlots } from './task-slots.js';
export type { NewTask, TaskStore } from './task-store.js';
export type {
  FeedPage,
  FeedQuery,
  FeedRow,
  HistoryQuery,
  RunEventLog,
  RunQuery,
  ThreadSearch,
  ThreadStore,
  ThreadUsage,
} from './thread-store.js';
export { onceOnly } from './once-only.js';
export { offeredTools, toolsOfGroups } from './offered-tools.js';
export type { TokenRecord, TokenRecords } from './token-records.js';
export type { CallState, JournaledCall, ToolJournal } from './tool-journal.js';
export { OUR_TOOLS } from './tool-names.js';
export { sameTools, type ToolSource, toolsOfAll } from './tool-source.js';
export { withoutThoughts } from './thoughts.js';
export { type AnyTool, type Deferral, defineTool, type ToolContext, type ToolOutcome } from './tool.js';
export type {
  CalledExecution,
  ExecutionEntry,
  ExecutionJournal,
  ExecutionState,
  SandboxBinding,
  SandboxDriverKind,
  SandboxProposal,
  SandboxRecord,
  SandboxRegistry,
  SandboxThread,
} from './sandbox-journal.js';
export {
  escapedName,
  invisibleCharacters,
  sizeText,
  uploadNames,
  uploadSizes,
  type UploadsLook,
  uploadsPath,
} from './uploaded-files.js';
export {
  DATA_DIRECTORIES,
  type DataDirectory,
  formatVirtualPath,
  parseSkillsPath,
  parseVirtualPath,
  SKILLS_ROOT,
  VIRTUAL_ROOT,
  type VirtualPath,
} from './virtual-path.js';
export type { VolumeRegistry } from './volume-registry.js';
