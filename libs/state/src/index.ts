export { redisAccountDirectory } from './access/account-directory.js';
export { redisApiKeys } from './access/api-keys.js';
export { redisAccounts } from './users/accounts.js';
export { redisAttempts } from './users/attempts.js';
export { redisRequestBuckets } from './users/request-buckets.js';
export { redisAgents } from './users/agents.js';
export { redisAssistants } from './assistants/assistants.js';
export { redisFeedback } from './feedback/feedback.js';
export { redisItems } from './items/items.js';
export { type AuditLine, type AuditLog, redisAuditLog } from './executions/audit-log.js';
export { type AuditEntry, type AuditTrail, redisAuditTrail } from './operator/audit-trail.js';
export {
  listPendingRuns,
  type PendingRun,
  type PendingRunQuery,
} from './operator/pending-runs.js';
export type { DeadLetterStore, ListedLetter, ReplayOutcome } from './letters/dead-letters.js';
export { redisDeadLetters } from './letters/redis-dead-letters.js';
export { checkRedis, requireDurableRedis } from './redis/check-redis.js';
export { createRedis, RedisConnection, type RedisLink } from './redis/connection.js';
export { redisCrons } from './crons/crons.js';
export { redisSchedules } from './crons/schedule-stops.js';
export { readCronQueue, readWebhookQueue } from './outbox/timer-queues.js';
export { redisDelayedRuns } from './delayed/delayed-runs.js';
export { redisOutbox } from './outbox/outbox.js';
export { redisConversions } from './files/conversions/conversions.js';
export { redisErasures } from './erasure/erasures.js';
export { redisEventLog } from './events/event-log.js';
export { redisExecutionJournal } from './executions/execution-journal.js';
export { redisMemoryJobs } from './memory/jobs/memory-jobs.js';
export { readMemoryQueue } from './memory/jobs/memory-queue.js';
export { redisLocks } from './shared/locks.js';
export { redisMemoryStore } from './memory/memory-store.js';
export { MemoryWatch } from './memory/memory-watch.js';
export { redisModelGate } from './models/model-gate.js';
export { type ModelCircuits, redisModelCircuits } from './models/model-circuits.js';
export { redisProcessRegistry } from './processes/process-registry.js';
export { type ProcessLeaseState, readProcessLeases } from './processes/process-leases.js';
export { countPendingThreads } from './runs/unowned-threads.js';
export { readRunQueue, readWaitingRuns, type WaitingRun, type WaitingRuns } from './runs/run-queue.js';
export { type DueUsers, readCronUsers, readMemoryUsers, readWebhookUsers } from './shared/due-users.js';
export { admittedRun } from './runs/admission.js';
export { createTurnStartRemovedError } from './runs/admission-refusals.js';
export { redisRunStore } from './runs/run-store.js';
export { redisSandboxRegistry } from './executions/sandbox-registry.js';
export { redisSkills } from './users/skills.js';
export { redisSharedDocuments } from './shared/shared-documents.js';
export { HeadCache } from './checkpoints/head-cache.js';
export type { StoreOptions, TraceSettings } from './redis/store-settings.js';
export { newProcessId } from './traces/process-name.js';
export { redisRunTraces } from './traces/run-traces.js';
export { traceSettings } from './traces/trace-settings.js';
export type { MissingReason, RunTraces, StoredRequest } from './traces/traces-port.js';
export { redisTaskSlots } from './tasks/task-slots.js';
export { redisTaskStore, taskPart } from './tasks/task-store.js';
export { redisThreadStore } from './thread-store.js';
export type { AdminLine, DecisionLine } from './ports/admission.js';
export { redisWaitingThreads } from './interrupts/waiting-threads.js';
export type { WaitingThread, WaitingThreads } from './ports/waiting-threads.js';
export { redisTurnQueue } from './turns/turn-queue.js';
export { redisTokenRecords } from './shared/token-records.js';
export { storeAccess } from './redis/store-access.js';
export { redisToolJournal } from './executions/tool-journal.js';
export { addCounts, NO_COUNTS } from './usage/ledger-rows.js';
export { ledgerSettings } from './usage/ledger-settings.js';
export { redisUsageLedger } from './usage/usage-ledger.js';
export { type BudgetUse, readDayUse } from './usage/day-use.js';
export type { BudgetState, LedgerCounts, LedgerRow, Payer, UsageLedger } from './ports/usage-ledger.js';
export { redisFileGenerations } from './files/file-generations.js';
export { redisVolumeRegistry } from './files/volume-registry.js';
export type { AdmitRequest, AdmitResult, EndedRun } from './ports/admission.js';
export type {
  ClaimOptions,
  FirstCommit,
  ClaimResult,
  CommitRequest,
  CommitResult,
  DeadLetter,
  FinishRequest,
  FinishResult,
  HandOverReason,
  RunLease,
  RunStore,
  ShownEvents,
  ThreadHead,
  WaitingMessage,
  UnownedThread,
} from './ports/run-store.js';
export type {
  AdmittedRun,
  CopiedThread,
  FeedPage,
  FeedRow,
  OrderedRun,
  RunEventLog,
  ThreadSearch,
  ThreadStore,
  ThreadUsage,
} from './ports/thread-store.js';
export type { ProcessOwner, ProcessRegistry, ProcessRenewal } from './ports/process-registry.js';
export type { NewTask, TaskStore } from './ports/task-store.js';
export type { ParentState, SlotLimits, TaskSlot, TaskSlots } from './ports/task-slots.js';
export type {
  AccessLine,
  AccountDirectory,
  AccountStore,
  ApiKeyStore,
  CreateOutcome,
  FoundApiKey,
  ListedAccount,
  NewSession,
  OpenSession,
  SessionHolder,
  SessionKey,
  StoredAccount,
  StoredApiKey,
} from './ports/account-store.js';
export type { CronRun, CronStart, CronStore, StoredCron } from './ports/cron-store.js';
export type { DelayedRun, DelayedRuns } from './ports/delayed-runs.js';
export type { DeliveryOutcome, OutboxStore, WebhookEvent } from './ports/outbox-store.js';
export {
  ASSISTANT_LIMITS,
  type AssistantContent,
  type AssistantOutcome,
  type AssistantStore,
  type StoredAssistant,
} from './ports/assistant-store.js';
export { type Feedback, type FeedbackStore, MAX_FEEDBACK } from './ports/feedback-store.js';
export type { ItemKey, ItemStore, StoredItem } from './ports/item-store.js';
export type { AttemptLimit, AttemptStore } from './ports/attempt-store.js';
export type { TurnQueue } from './ports/turn-queue.js';
export type { BucketName, RequestBuckets } from './ports/request-buckets.js';
export type { Locks } from './ports/locks.js';
export { BeingErasedError, type Erasure, type ErasureStore } from './ports/erasure-store.js';
