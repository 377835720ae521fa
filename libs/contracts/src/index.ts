export { BEFORE_FIRST_CHECKPOINT, CheckpointId, DEFAULT_USER_ID, newId, newToolCallId } from './common/ids.js';
export { RunId, ThreadId, UserId } from './common/ids.js';
export {
  AppError,
  BadRequestError,
  BugError,
  ConflictError,
  DeadlineError,
  ErrorCode,
  ExtensionError,
  FencedError,
  ForbiddenError,
  fromWireError,
  InvalidRequestError,
  ModelError,
  NotFoundError,
  PreconditionFailedError,
  RateLimitedError,
  TooLargeError,
  toWireError,
  UnauthenticatedError,
  UnavailableError,
  UnsupportedMediaTypeError,
  WireError,
} from './common/errors.js';
export { EMPTY_QUEUE, type QueueState } from './common/queue-state.js';
export { QuotaError, type QuotaUse } from './common/quota-error.js';
export {
  AiMessage,
  Content,
  HumanMessage,
  InvalidToolCall,
  EDITED,
  FROM_CLIENT,
  isFromClient,
  isShownToUsers,
  Message,
  REMOVE_ALL,
  RemoveMessage,
  SystemMessage,
  textOf,
  ToolCall,
  type ToolCallChunk,
  ToolMessage,
  UsageMetadata,
} from './records/messages.js';
export { CallPart, type ProviderExtras, toClientMessage } from './records/provider-extras.js';
export { emptyMemory, FactCategory, HISTORY_SECTIONS, MAX_FACT_CHARS, MAX_MEMORY_BYTES } from './records/memory.js';
export { MAX_SUMMARY_CHARS, MemoryAgent, MemoryCause, MemoryDocument, MemoryFact } from './records/memory.js';
export { MemorySection, NEVER_UPDATED, USER_SECTIONS } from './records/memory.js';
export {
  GoalBlocker,
  type GoalChange,
  type GoalEvaluation,
  GoalState,
} from './records/goal.js';
export { ownUsageOf, SUBAGENT_USAGE, subagentUsageOf, TokenCounts } from './records/token-counts.js';
export {
  CHANNEL_NAMES,
  type ChannelName,
  ChannelValues,
  CheckpointMetadata,
  type CheckpointView,
  type HiddenChannel,
  NextNode,
  PromotedTools,
  SandboxBinding,
  toClientState,
  type StateUpdate,
  type ThreadContext,
  ThreadData,
  ThreadRecord,
  ThreadState,
  ThreadStatus,
  type Todo,
  type UploadedFileState,
  ViewedImage,
} from './records/thread-state.js';
export { SandboxDriverKind } from './records/sandbox-driver.js';
export {
  CancelAction,
  customAgentOf,
  END_NODE,
  isTerminal,
  LEAD_AGENT,
  MultitaskStrategy,
  RequestedStrategy,
  RunCommand,
  RunContextValues,
  RunInputMessage,
  RunKwargs,
  RunStatus,
  StreamMode,
  ThreadStreamMode,
} from './records/runs.js';
export { type AnsweredInterrupt, type ClientInterrupt, MAX_INTERRUPT_BYTES } from './records/interrupts.js';
export { clientInterruptsOf, MAX_OPEN_INTERRUPTS, ThreadInterrupts, toClientInterrupt } from './records/interrupts.js';
export { InterruptId, InterruptKind, InterruptRecord, type RunTerms } from './records/interrupts.js';
export { ApprovalAnswer, type ApprovalDecision, type ApprovalNote, ApprovalRequest } from './records/approvals.js';
export { callHashOf, toApprovalAnswer } from './records/approvals.js';
export { Decider } from './settings/decider.js';
export { ApprovalRule, ApprovalRules, ApprovalTerms, DecisionType } from './settings/approval-rules.js';
export { RunRecord, RunSummary, storedFields } from './records/run-record.js';
export { continuationId, TASK_METADATA, TaskCap, TaskEvent, taskIds, TaskSpec, TaskStatus } from './records/tasks.js';
export { uuidOf } from './records/tasks.js';
export { AgentDescription, AgentModel, agentOfAssistant, AgentSkills, AgentSoul } from './settings/agents.js';
export { AgentToolGroups, CustomAgent, isReservedAgent, MAX_AGENTS, NO_MODEL_SETTINGS } from './settings/agents.js';
export { MAX_SOUL_CHARS } from './settings/agents.js';
export { AllowedTools, InstalledSkill, SkillCategory, SkillDescription, SkillName } from './settings/skills.js';
export { type NumberedEvent, RunEvent, type RunEventOf } from './records/events.js';
export {
  CANCEL_ALL,
  cancelSubject,
  commandOutputSubject,
  type DeadLetterKind,
  configSubject,
  deadLetterSubject,
  runEventsSubject,
  threadRunSubject,
  streams,
  type WakeRole,
  wakeSubject,
  runnerOffersSubject,
  TURN_OFFERS,
  TURN_TAKERS,
} from './bus/subjects.js';
export { type BusAccess, busAccess, MANAGERS_QUEUE, REPLY_WITHIN_MS } from './bus/bus-access.js';
export { isSentinelUrl, parseSentinelUrl } from './bus/sentinel-address.js';
export type { NatsLogin, NatsSecurity, RedisSecurity, TlsMaterial } from './bus/server-security.js';
export { type ServiceName, serviceNames } from './common/services.js';
export { OutputPiece } from './bus/command-output.js';
export { MAX_MCP_SERVERS, MCP_DOCUMENT, McpDocument, McpOAuth, McpServer, McpServerName } from './settings/mcp.js';
export { CommandAudit, CommandMatch, CommandRule, CommandVerdict } from './settings/command-rules.js';
export { DEFAULT_COMMAND_RULES } from './settings/default-command-rules.js';
export { rpc, type RpcContract } from './rpc/contract.js';
export {
  FileExpectation,
  machineSubject,
  managerSubject,
  MAX_BLOCKED_CHARS,
  SandboxAcquire,
  SandboxBlocked,
  SandboxCancel,
  SandboxEdit,
  SandboxExec,
  SandboxProbe,
  SandboxRead,
  SandboxRelease,
  ReceivedSandboxWrite,
  SandboxWrite,
} from './rpc/sandbox.js';
export { FleetInfo, FleetSandboxes, ProcessInfo, type ScatterContract } from './rpc/scatter.js';
export { SandboxEnd } from './rpc/sandbox-end.js';
export { VERSION } from './common/version.js';
export { SandboxPublish, SandboxPublishLeft } from './rpc/sandbox-publish.js';
export { MAX_REPLY_FILE_BYTES, SandboxReadBytes } from './rpc/sandbox-bytes.js';
export { SandboxGlob, SandboxGrep, SandboxList, SandboxStat } from './rpc/sandbox-lookups.js';
export {
  type JournalledOperation,
  type SandboxOperation,
  sandboxOperations,
  type SandboxReply,
  type SandboxRequest,
} from './rpc/sandbox-operations.js';
export {
  type AgentChanges,
  type AgentReply,
  agentRoutes,
  type ChainReply,
  type NewAgent,
  profileRoutes,
} from './http/resources/agents.js';
export type { MessageEdit, StateMessage } from './http/threads/state-messages.js';
export { type FeedbackReply, feedbackRoutes } from './http/resources/feedback.js';
export { type CompactReply, compactionRoutes } from './http/conversations/compaction.js';
export { type GoalReply, goalRoutes } from './http/conversations/goals.js';
export { inputPolishRoutes } from './http/resources/input-polish.js';
export { type ItemReply, itemRoutes } from './http/resources/items.js';
export { assistantRoutes } from './http/resources/assistants.js';
export {
  type AssistantReply,
  type AssistantVersionReply,
  type CheckpointReply,
  FailureReply,
  RunReply,
  type StateReply,
  type StateUpdateReply,
  type TaskReply,
  type ThreadReply,
  type TokenUsageReply,
} from './http/threads/replies.js';
export { fileRoutes, MAX_EDITED_BYTES, type UploadedFile, type UploadListReply } from './http/files/files.js';
export { type UploadReply } from './http/files/files.js';
export { type FileDiffReply, fileHistoryRoutes, type FilePageReply } from './http/files/file-history.js';
export { type WorkspaceChange, type WorkspaceChangesReply } from './http/files/file-history.js';
export { type FactChanges, type MemoryConfigReply, type MemoryHistoryReply } from './http/resources/memory-shapes.js';
export { type LegacyFact, MemoryImport, type MemoryStatusReply, type NewFact } from './http/resources/memory-shapes.js';
export { CronSpec, type CronTimes } from './records/crons.js';
export { CronCreate, type CronFilter, type CronReply, cronRoutes, type CronUpdate } from './http/schedules/crons.js';
export { type ScheduledTaskRenewal, type ScheduledTaskRunReply } from './http/schedules/scheduled-task-shapes.js';
export { type ScheduledTaskCreate, type ScheduledTaskUpdate } from './http/schedules/scheduled-task-shapes.js';
export { type ScheduledTaskReply, ScheduleSpec, type ThreadTaskReply } from './http/schedules/scheduled-task-shapes.js';
export { scheduledTaskRoutes } from './http/schedules/scheduled-tasks.js';
export { type WebhookEventsReply, webhookRoutes } from './http/resources/webhooks.js';
export { featureRoutes, type FeaturesReply } from './http/resources/features.js';
export { branchRoutes, type BranchReply, type CloneMode } from './http/threads/branches.js';
export { memoryRoutes } from './http/resources/memory.js';
export { type FeedMessage, type FeedPageReply, messageRoutes } from './http/threads/messages.js';
export { type ModelListReply, type ModelReply, modelRoutes } from './http/resources/models.js';
export {
  suggestionRoutes,
  type SuggestionsConfigReply,
  type SuggestionsReply,
} from './http/conversations/suggestions.js';
export { type SuggestionsRequest } from './http/conversations/suggestions.js';
export { type AuditEntryReply, type AuditReply, auditRoutes } from './http/admin/audit.js';
export {
  adminConfigRoutes,
  type AdminConfigReply,
  budgetRoutes,
  type BudgetsReply,
  type ConfigFindingReply,
} from './http/admin/config.js';
export {
  type DeadLetterReply,
  type DeadLettersReply,
  deadLetterRoutes,
  type DeadLetterReplayReply,
  DeadLetterTopic,
} from './http/admin/dead-letters.js';
export { type AdminRunReply, type AdminRunsReply, adminRunRoutes } from './http/admin/runs.js';
export { type AdminCronReply, type AdminCronsReply, adminCronRoutes } from './http/admin/schedules.js';
export {
  type AdminWebhookEventReply,
  type AdminWebhookEventsReply,
  adminWebhookRoutes,
} from './http/admin/webhooks.js';
export { httpRoutes } from './registry.js';
export { type McpConfigReply, mcpRoutes } from './http/resources/mcp.js';
export { isRecord } from './common/is-record.js';
export { omitUndefined } from './common/omit-undefined.js';
export { oneLine } from './common/one-line.js';
export { CONTROL_TOOLS, SANDBOX_TOOLS, WEB_TOOLS } from './common/tool-names.js';
export {
  FREE_JSON_LIMITS,
  countKeys,
  type RouteContract,
  type RouteInput,
  type RouteReplyJson,
  type RouteRole,
} from './http/route.js';
export { clampRecursionLimit, ConfigurableThread, RunContextInput } from './http/threads/run-create.js';
export { RunCreate, startCheckpointOf } from './http/threads/run-create.js';
export type { InputMessage, ReturnedAi, ReturnedTool } from './http/threads/input-messages.js';
export { type EditReplayReply, type ReplayReply, replayRoutes } from './http/threads/replays.js';
export { runRoutes, statelessRoutes } from './http/threads/runs.js';
export { CommandEnvelope, commandParams, PROTOCOL_CHANNELS, protocolRoutes } from './http/threads/protocol.js';
export type { CommandMethod, CommandParams, CommandReply, EventFilter } from './http/threads/protocol.js';
export type { ProtocolChannel, ProtocolErrorCode } from './http/threads/protocol.js';
export {
  type NewAccountInput,
  type SessionReply,
  SignInFailure,
  signInRoutes,
  type UserReply,
} from './http/resources/sign-in.js';
export { type UsageEntry, type UsageGroup, type UsageReply, usageRoutes } from './http/resources/usage.js';
export { userRoutes } from './http/resources/users.js';
export { type FleetReply, fleetRoutes, type SilentProcess } from './http/admin/fleet.js';
export { type ModelState, modelStateRoutes } from './http/admin/models.js';
export { type QueueInfo, type QueueKind, queueRoutes, type QueuesReply } from './http/admin/queues.js';
export type { WaitingThreadInfo } from './http/admin/queues.js';
export { type SandboxesReply, type SandboxInfo, sandboxRoutes } from './http/admin/sandboxes.js';
export {
  AccessRole,
  type ApiKeyPageReply,
  type ApiKeyReply,
  apiKeyRoutes,
  type IssuedKeyReply,
} from './http/admin/keys.js';
export { type AccountPageReply, type AccountReply, accountRoutes } from './http/admin/accounts.js';
export { type SkillInstallReply, type SkillReply, skillRoutes } from './http/resources/skills.js';
export { systemRoutes } from './http/resources/system.js';
export { type DelegatedTaskDetailReply, type DelegatedTaskReply, taskRoutes } from './http/runs/tasks.js';
export { type RequestReply, runTraceRoutes, type TraceReply } from './http/runs/run-trace.js';
export { TraceEntry } from './http/runs/trace-entries.js';
export { runEventRoutes, type RunLogEvent, type SubagentStep } from './http/runs/run-events.js';
export { type ApprovalsReply, approvalRoutes, type WaitingReply } from './http/resources/approvals.js';
export { type OpenQuestion, openQuestionsIn, toAnswerMessage } from './records/human-input.js';
export { threadRoutes } from './http/threads/threads.js';
export { type ExactLogFields, type LogFields, logFields } from './common/log-fields.js';
export {
  type Frame,
  FrameError,
  encodeFrame,
  encodeJsonFrame,
  jsonOf,
  readFrames,
} from './sandbox-agent/frames.js';
export {
  AGENT_LIMITS,
  AGENT_PROTOCOL_VERSION,
  AgentEgress,
  AgentExecHead,
  AgentExecResult,
  AgentPullHead,
  type AgentRefusal,
  ChangedEntry,
  ChangesEnd,
  FileEnd,
  MirrorPosition,
  RemovedPaths,
  ZeroBytes,
} from './sandbox-agent/exec.js';
export {
  AGENT_ROUTES,
  AgentHealth,
  AgentKill,
  AgentKilled,
  AgentLease,
  ALIVE_MS,
  EGRESS_PREAMBLE,
  FRAMES_TYPE,
} from './sandbox-agent/routes.js';
