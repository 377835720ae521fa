import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { AccountsController } from './access/accounts.controller.js';
import { AccountsService } from './access/accounts.service.js';
import { KeysController } from './access/keys.controller.js';
import { KeysService } from './access/keys.service.js';
import { AgentsController } from './agents/agents.controller.js';
import { AgentsService } from './agents/agents.service.js';
import { ProfileController } from './agents/profile.controller.js';
import { ApprovalsController } from './approvals/approvals.controller.js';
import { InterruptDeadlines } from './approvals/interrupt-deadlines.js';
import { ApprovalsService } from './approvals/approvals.service.js';
import { ArtifactEdits } from './files/artifacts/artifact-edits.js';
import { ArtifactsController } from './files/artifacts/artifacts.controller.js';
import { FileHistoryController } from './files/history/file-history.controller.js';
import { FileHistoryService } from './files/history/file-history.service.js';
import { AssistantCatalog } from './assistants/assistant-catalog.js';
import { AssistantsService } from './assistants/assistants.service.js';
import { RunAssistants } from './assistants/run-assistants.js';
import { AssistantsController } from './assistants/assistants.controller.js';
import { SignInController } from './auth/sign-in.controller.js';
import { SignInService } from './auth/sign-in.service.js';
import { BranchesController } from './threads/branches/branches.controller.js';
import { BranchesService } from './threads/branches/branches.service.js';
import { AdminAudit } from './operator/admin-audit.js';
import { AdminConfigController } from './operator/admin-config.controller.js';
import { AdminCronsController } from './operator/admin-crons.controller.js';
import { AdminCronsService } from './operator/admin-crons.service.js';
import { AdminRunsController } from './operator/admin-runs.controller.js';
import { AdminRunsService } from './operator/admin-runs.service.js';
import { AdminWebhooksController } from './operator/admin-webhooks.controller.js';
import { AuditController } from './operator/audit.controller.js';
import { AuditService } from './operator/audit.service.js';
import { DeadLettersController } from './operator/dead-letters.controller.js';
import { DeadLettersService } from './operator/dead-letters.service.js';
import { RunReplays } from './operator/run-replays.js';
import { BudgetsController } from './usage/budgets.controller.js';
import { UsageController } from './usage/usage.controller.js';
import { UsageService } from './usage/usage.service.js';
import { UsersController } from './erasure/users.controller.js';
import { FleetController } from './fleet/fleet.controller.js';
import { FleetService } from './fleet/fleet.service.js';
import { ModelStatesService } from './fleet/model-states.service.js';
import { QueuesService } from './fleet/queues.service.js';
import { SandboxesService } from './fleet/sandboxes.service.js';
import { InputPolishController } from './input-polish/input-polish.controller.js';
import { SingleCalls } from './models/single-calls.js';
import { CompactionController } from './threads/compaction/compaction.controller.js';
import { CompactionService } from './threads/compaction/compaction.service.js';
import { GoalsController } from './threads/goals/goals.controller.js';
import { GoalsService } from './threads/goals/goals.service.js';
import { FeedbackController } from './threads/feedback/feedback.controller.js';
import { FeaturesController } from './system/features.controller.js';
import { MemoryController } from './memory/memory.controller.js';
import { MemoryEdits } from './memory/memory-edits.js';
import { MemoryService } from './memory/memory.service.js';
import { McpConfigService } from './mcp/mcp-config.service.js';
import { McpController } from './mcp/mcp.controller.js';
import { MessagesController } from './threads/messages/messages.controller.js';
import { ModelsController } from './models/models.controller.js';
import { type Dependencies, toProviders } from './dependencies.js';
import { RegenerationController } from './threads/regenerate/regeneration.controller.js';
import { RegenerationService } from './threads/regenerate/regeneration.service.js';
import { TurnDurations } from './threads/messages/turn-durations.js';
import { RunAgents } from './runs/run-agents.js';
import { RunAdmission } from './runs/run-admission.js';
import { RunInputs } from './runs/run-inputs.js';
import { RunsController } from './runs/runs.controller.js';
import { RunsService } from './runs/runs.service.js';
import { StatelessRunsController } from './runs/stateless-runs.controller.js';
import { SessionsController } from './sessions/sessions.controller.js';
import { SessionsService } from './sessions/sessions.service.js';
import { SkillInstaller } from './skills/skill-installer.js';
import { SkillUploads } from './skills/skill-uploads.js';
import { SkillsController } from './skills/skills.controller.js';
import { SkillsService } from './skills/skills.service.js';
import { ItemsController } from './store/items.controller.js';
import { ItemVectors } from './store/item-vectors.js';
import { ItemsService } from './store/items.service.js';
import { LongAnswers } from './runs/streams/long-answers.js';
import { ThreadStreams } from './runs/streams/thread-streams.js';
import { ThreadPruning } from './threads/thread-pruning.js';
import { RunCancels } from './runs/run-cancels.js';
import { OpenStreams } from './runs/streams/open-streams.js';
import { RunStreams } from './runs/streams/run-streams.js';
import { RunCommands } from './protocol/commands/run-commands.js';
import { StateCommands } from './protocol/commands/state-commands.js';
import { ProtocolCommands } from './protocol/commands/protocol-commands.js';
import { ProtocolController } from './protocol/protocol.controller.js';
import { ProtocolStreams } from './protocol/protocol-streams.js';
import { ProtocolSockets } from './protocol/socket/protocol-sockets.js';
import { SuggestionsController } from './threads/suggestions/suggestions.controller.js';
import { SuggestionsService } from './threads/suggestions/suggestions.service.js';
import { ReadinessCheck } from './system/readiness.js';
import { ConsoleController } from './system/console.controller.js';
import { InfoController, SystemController } from './system/system.controller.js';
import { RunEventsController } from './run-events/run-events.controller.js';
import { RunEventsService } from './run-events/run-events.service.js';
import { RunTracesController } from './traces/run-traces.controller.js';
import { RunTracesService } from './traces/run-traces.service.js';
import { TasksController } from './tasks/tasks.controller.js';
import { TasksService } from './tasks/tasks.service.js';
import { ThreadsController } from './threads/threads.controller.js';
import { ThreadsService } from './threads/threads.service.js';
import { TokenUsageService } from './threads/token-usage.service.js';
import { CronsController } from './crons/crons.controller.js';
import { CronsService } from './crons/crons.service.js';
import { DueCrons } from './crons/due-crons.js';
import { ScheduledTasksController } from './scheduled-tasks/scheduled-tasks.controller.js';
import { ScheduledTasksService } from './scheduled-tasks/scheduled-tasks.service.js';
import { TaskRuns } from './scheduled-tasks/task-runs.js';
import { WebhooksController } from './webhooks/webhooks.controller.js';
import { DocumentConversions } from './files/uploads/document-conversions.js';
import { UploadsController } from './files/uploads/uploads.controller.js';
import { UploadsService } from './files/uploads/uploads.service.js';

const CONTROLLERS: readonly Type[] = [
  ThreadsController,
  BranchesController,
  MessagesController,
  RegenerationController,
  RunsController,
  StatelessRunsController,
  CronsController,
  WebhooksController,
  ScheduledTasksController,
  FeedbackController,
  CompactionController,
  GoalsController,
  ProtocolController,
  ApprovalsController,
  RunTracesController,
  TasksController,
  RunEventsController,
  UploadsController,
  ArtifactsController,
  FileHistoryController,
  AssistantsController,
  ItemsController,
  AgentsController,
  ProfileController,
  MemoryController,
  SkillsController,
  McpController,
  SignInController,
  SessionsController,
  UsersController,
  KeysController,
  AccountsController,
  UsageController,
  ModelsController,
  SuggestionsController,
  InputPolishController,
  DeadLettersController,
  AdminRunsController,
  AdminCronsController,
  AdminWebhooksController,
  AuditController,
  AdminConfigController,
  BudgetsController,
  FeaturesController,
  InfoController,
  SystemController,
  ConsoleController,
  FleetController,
];

const SERVICES: readonly Type[] = [
  ArtifactEdits,
  ThreadsService,
  TokenUsageService,
  UsageService,
  BranchesService,
  RegenerationService,
  RunsService,
  CronsService,
  DueCrons,
  ScheduledTasksService,
  TaskRuns,
  RunAgents,
  ApprovalsService,
  InterruptDeadlines,
  RunAdmission,
  RunInputs,
  TurnDurations,
  AgentsService,
  ItemsService,
  ItemVectors,
  SingleCalls,
  CompactionService,
  GoalsService,
  AssistantCatalog,
  AssistantsService,
  RunAssistants,
  RunTracesService,
  TasksService,
  RunEventsService,
  MemoryService,
  MemoryEdits,
  UploadsService,
  FileHistoryService,
  DocumentConversions,
  SkillsService,
  SkillInstaller,
  SkillUploads,
  McpConfigService,
  SignInService,
  SessionsService,
  KeysService,
  AccountsService,
  SuggestionsService,
  LongAnswers,
  ThreadStreams,
  ThreadPruning,
  RunCancels,
  OpenStreams,
  RunStreams,
  RunCommands,
  StateCommands,
  ProtocolCommands,
  ProtocolStreams,
  ProtocolSockets,
  AdminAudit,
  RunReplays,
  DeadLettersService,
  AdminRunsService,
  AdminCronsService,
  AuditService,
  ReadinessCheck,
  FleetService,
  QueuesService,
  ModelStatesService,
  SandboxesService,
];

@Module({})
export class AppModule {
  /** The gateway's controllers and services over these dependencies. */
  static withDependencies(dependencies: Dependencies): DynamicModule {
    return {
      module: AppModule,
      controllers: [...CONTROLLERS],
      providers: [...toProviders(dependencies), ...SERVICES],
    };
  }
}
