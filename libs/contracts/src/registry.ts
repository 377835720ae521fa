import { auditRoutes } from './http/admin/audit.js';
import { adminConfigRoutes, budgetRoutes } from './http/admin/config.js';
import { deadLetterRoutes } from './http/admin/dead-letters.js';
import { adminRunRoutes } from './http/admin/runs.js';
import { adminCronRoutes } from './http/admin/schedules.js';
import { adminWebhookRoutes } from './http/admin/webhooks.js';
import { accountRoutes } from './http/admin/accounts.js';
import { apiKeyRoutes } from './http/admin/keys.js';
import { approvalRoutes } from './http/resources/approvals.js';
import { agentRoutes, profileRoutes } from './http/resources/agents.js';
import { assistantRoutes } from './http/resources/assistants.js';
import { cronRoutes } from './http/schedules/crons.js';
import { scheduledTaskRoutes } from './http/schedules/scheduled-tasks.js';
import { webhookRoutes } from './http/resources/webhooks.js';
import { branchRoutes } from './http/threads/branches.js';
import { featureRoutes } from './http/resources/features.js';
import { compactionRoutes } from './http/conversations/compaction.js';
import { goalRoutes } from './http/conversations/goals.js';
import { feedbackRoutes } from './http/resources/feedback.js';
import { fileHistoryRoutes } from './http/files/file-history.js';
import { fileRoutes } from './http/files/files.js';
import { inputPolishRoutes } from './http/resources/input-polish.js';
import { itemRoutes } from './http/resources/items.js';
import { memoryRoutes } from './http/resources/memory.js';
import { mcpRoutes } from './http/resources/mcp.js';
import { messageRoutes } from './http/threads/messages.js';
import { modelRoutes } from './http/resources/models.js';
import { replayRoutes } from './http/threads/replays.js';
import type { RouteContract } from './http/route.js';
import { protocolRoutes } from './http/threads/protocol.js';
import { runEventRoutes } from './http/runs/run-events.js';
import { runTraceRoutes } from './http/runs/run-trace.js';
import { runRoutes, statelessRoutes } from './http/threads/runs.js';
import { signInRoutes } from './http/resources/sign-in.js';
import { skillRoutes } from './http/resources/skills.js';
import { suggestionRoutes } from './http/conversations/suggestions.js';
import { systemRoutes } from './http/resources/system.js';
import { taskRoutes } from './http/runs/tasks.js';
import { threadRoutes } from './http/threads/threads.js';
import { fleetRoutes } from './http/admin/fleet.js';
import { modelStateRoutes } from './http/admin/models.js';
import { queueRoutes } from './http/admin/queues.js';
import { sandboxRoutes } from './http/admin/sandboxes.js';
import { usageRoutes } from './http/resources/usage.js';
import { userRoutes } from './http/resources/users.js';

/** Every route of the gateway, in the order of the documentation. */
export const httpRoutes: readonly RouteContract[] = [
  threadRoutes,
  branchRoutes,
  messageRoutes,
  replayRoutes,
  runRoutes,
  runEventRoutes,
  runTraceRoutes,
  statelessRoutes,
  cronRoutes,
  webhookRoutes,
  scheduledTaskRoutes,
  compactionRoutes,
  goalRoutes,
  feedbackRoutes,
  protocolRoutes,
  approvalRoutes,
  taskRoutes,
  fileRoutes,
  fileHistoryRoutes,
  assistantRoutes,
  itemRoutes,
  agentRoutes,
  profileRoutes,
  memoryRoutes,
  skillRoutes,
  mcpRoutes,
  signInRoutes,
  userRoutes,
  apiKeyRoutes,
  accountRoutes,
  usageRoutes,
  modelRoutes,
  suggestionRoutes,
  inputPolishRoutes,
  featureRoutes,
  deadLetterRoutes,
  adminRunRoutes,
  adminCronRoutes,
  adminWebhookRoutes,
  auditRoutes,
  adminConfigRoutes,
  budgetRoutes,
  systemRoutes,
  fleetRoutes,
  queueRoutes,
  modelStateRoutes,
  sandboxRoutes,
].flatMap((routes) => Object.values<RouteContract>(routes));
