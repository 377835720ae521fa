export { answerableCalls, dropLateAnswers } from './agent/client-answers.js';
export { hasPending, type PendingCalls, pendingCalls } from './agent/pending-calls.js';
export { type BilledTokens, billedTokens, costOf, wholeTokens } from './usage/call-cost.js';
export { callUsage, type CallUsage } from './usage/call-usage.js';
export { activeSkill, filterAllowedTools } from './agent/active-skill.js';
export { findAgentFault, BOOTSTRAP_SKILL, type InstalledForAgents, skillsOfAgent } from './agent/agent-rules.js';
export type { SchedulePort, ScheduleStop, ScheduleStopOutcome } from './stores/schedule-port.js';
export type { AgentStore, AgentWrite, AgentWriteOutcome, StoredAgent } from './stores/agent-store.js';
export { isEdit, resolveEdits } from './messages/message-edits.js';
export { applyUpdate, clientUpdate, isEmptyUpdate, joinUpdates, withGoalOf } from './agent/agent-state.js';
export type { LoopHost, LoopOutcome, LoopPosition, TurnCommit, TurnUsage } from './agent/agent-runtime.js';
export { executeAtMostOnce, unknownOutcome } from './tool-calls/execute-at-most-once.js';
export { type Clock, systemClock } from './util/clock.js';
export { RepeatedTask } from './util/repeated-task.js';
export { KeyedMutex } from './util/keyed-mutex.js';
export { Limiter } from './util/limiter.js';
export { eventJson } from './util/event-json.js';
export { memoize, memoizeRecent, memoizeRecentBy, memoizeRecentLists } from './util/memoize.js';
export { SlotMap, SlotSet } from './util/slots.js';
export { copyWith } from './util/copy-with.js';
export { deadlineSignal } from './util/deadline-signal.js';
export { settlesWithin } from './util/settles-within.js';
export { shareRecentResult } from './util/share-recent-result.js';
export type {
  Companion,
  ConversionLease,
  ConversionRecord,
  ConversionStore,
  FileVersion,
  PendingConversion,
  UploadKey,
} from './stores/conversion-store.js';
export { contentHashMark, lastReadHash } from './agent/content-hash-mark.js';
export { withFittingExtras } from './agent/fitting-extras.js';
export { isFinalAnswer } from './agent/final-answer.js';
export { defuseFrameworkTags, escapeMarkup } from './text/framework-tags.js';
export { WriteCoalescer } from './util/write-coalescer.js';
export { type Logger, silentLogger } from './util/logger.js';
export type {
  JobProgress,
  MemoryJob,
  MemoryJobKey,
  MemoryJobs,
  MemoryLease,
  MemoryUpdate,
  NumberedMessage,
} from './stores/memory-jobs.js';
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
} from './stores/memory-store.js';
export type {
  AgentMiddleware,
  ModelCallNext,
  ModelRequest,
  Step,
  ToolCallNext,
  ToolCallRequest,
} from './agent/middleware.js';
export { type CommandIdentity, closedDirectoryOf, commandIdentity } from './util/command-identity.js';
export { errnoOf } from './util/errno.js';
export { decodeAttached, encodeAttached, hasAttachments } from './util/attached-texts.js';
export { utf8Bytes, utf8Text } from './util/utf8-text.js';
export type { BegunAdmission, OfferedAdmission, OfferedRun } from './util/offered-run.js';
export type { ThreadKey } from './util/thread-key.js';
export type { Embedder } from './ports/embedder.js';
export type { CallOf, CallOutcome, CallPermit, AcquireResult, ModelEndpoint, ModelGate } from './ports/model-gate.js';
export type { ModelModule, ModuleDelta } from './ports/model-module.js';
export type { AnswerExtras, ModelCall, ModelCatalog, ModelDelta, ModelPort } from './ports/model-port.js';
export {
  answerInterrupts,
  askingRunOf,
  Interrupted,
  interruptsAfter,
  pauseInterrupt,
  NO_INTERRUPTS_HERE,
  toolCallOf,
  toolScope,
  withInterrupts,
} from './agent/interrupts.js';
export type { InterruptRequest } from './ports/interrupt-request.js';
export { CONTEXT_MESSAGE } from './messages/context-message.js';
export { isUserMessage, userText } from './text/user-text.js';
export type { RunContext } from './agent/run-context.js';
export {
  ChainRecorder,
  type ChainSummary,
  type Span,
  type TracedCall,
  type TraceFields,
  traceCall,
  traceHook,
} from './agent/instrumentation.js';
export type {
  CallCause,
  OmittedMessages,
  OpenModelCall,
  OpenToolCall,
  StepTrace,
  StepTracer,
  TextEdit,
  TracedEdit,
  TracedFailure,
  TracedModelCall,
  TracedRange,
  TracedRequest,
  TracedText,
  TracedToolCall,
} from './traces/step-trace.js';
export {
  mapOperations,
  RunCancelled,
  RunDraining,
  RunLost,
  RunTimedOut,
  type SandboxCall,
  type SandboxCalls,
  type SandboxPort,
  type SandboxScope,
} from './ports/sandbox-port.js';
export type {
  ObjectBody,
  ObjectBytes,
  ObjectContent,
  ObjectInfo,
  ObjectPage,
  ObjectRange,
  ObjectSource,
  ObjectStore,
} from './ports/object-store.js';
export type { DataMounts, SandboxMounts, SkillsMount } from './ports/sandbox-mounts.js';
export {
  type DirectoryNode,
  FILE_PARTS,
  type FileContent,
  type FileNode,
  type FilePart,
  filePartOf,
  type FileTree,
  type LinkNode,
  type TreeNode,
} from './files/file-tree.js';
export type { OpenFile } from './files/open-file.js';
export type { BegunContents, FileSource, FindContent, StoredFile, TreeStore } from './files/tree-store.js';
export type {
  FileCommit,
  FileCommitReply,
  FileGeneration,
  CheckpointFiles,
  FileGenerations,
  FileHead,
  FileTrees,
  FileWriter,
  UnpublishedFiles,
} from './files/file-generations.js';
export type { DiskUsage, ThreadQuota } from './ports/thread-quota.js';
export type { SharedDocuments } from './stores/shared-documents.js';
export type { SafeFetch } from './ports/safe-fetch.js';
export type { Skill, SkillCatalog, SkillLimits, SkillStore, UserSkills } from './ports/skill-catalog.js';
export { splitSkillFile } from './text/skill-text.js';
export { runSlot, stateSlot } from './agent/state-slot.js';
export type { TaskRequest, SubagentPort, SubagentType, TaskOutcome } from './agent/subagent-port.js';
export { withAtMostOnce } from './tool-calls/with-at-most-once.js';
export { selectOfferedTools, toolsOfGroups } from './agent/offered-tools.js';
export type { TokenRecord, TokenRecords } from './stores/token-records.js';
export type { CallState, JournaledCall, ToolJournal } from './tool-calls/tool-journal.js';
export { RESERVED_TOOL_NAMES } from './agent/tool-names.js';
export { listTools, staticToolSource, type ToolSource, withoutTaken } from './agent/tool-source.js';
export { stripReasoning } from './text/strip-reasoning.js';
export { type AnyTool, type Deferral, defineTool, type ToolContext, type ToolOutcome } from './agent/tool.js';
export type {
  CalledExecution,
  ExecutionEntry,
  ExecutionJournal,
  ExecutionState,
  SandboxBinding,
  SandboxProposal,
  SandboxRecord,
  SandboxRegistry,
} from './stores/sandbox-journal.js';
export {
  escapeName,
  invisibleCharacters,
  formatSize,
  listUploadNames,
  readUploadSizes,
  type UploadsAccess,
  uploadsPath,
} from './agent/uploaded-files.js';
export {
  DATA_DIRECTORIES,
  type DataDirectory,
  formatVirtualPath,
  parseSkillsPath,
  parseVirtualPath,
  SKILLS_ROOT,
  VIRTUAL_ROOT,
  type VirtualPath,
} from './text/virtual-path.js';
export type { VolumeRegistry } from './stores/volume-registry.js';
export { wholeCharacters } from './text/whole-characters.js';
export type { CopyMirror, CopyMirrors, MirrorCounts, MirrorStep } from './ports/copy-mirror.js';
export { CommandOutput, type OutputListener } from './util/output-window.js';
export { encodeStep, stepsOf } from './files/mirror-frames.js';
