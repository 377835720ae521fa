import { agentRoutes, profileRoutes } from './agents.js';
import { assistantRoutes } from './assistants.js';
import { branchRoutes } from './branches.js';
import { featureRoutes } from './features.js';
import { fileRoutes } from './files.js';
import { memoryRoutes } from './memory.js';
import { mcpRoutes } from './mcp.js';
import { messageRoutes } from './messages.js';
import { modelRoutes } from './models.js';
import { replayRoutes } from './replays.js';
import type { RouteContract } from './route.js';
import { runRoutes, statelessRoutes } from './runs.js';
import { signInRoutes } from './sign-in.js';
import { skillRoutes } from './skills.js';
import { suggestionRoutes } from './suggestions.js';
import { systemRoutes } from './system.js';
import { taskRoutes } from './tasks.js';
import { threadRoutes } from './threads.js';
import { userRoutes } from './users.js';

/** Every route of the gateway, in the order of the documentation. */
export const httpRoutes: readonly RouteContract[] = [
  threadRoutes,
  branchRoutes,
  messageRoutes,
  replayRoutes,
  runRoutes,
  statelessRoutes,
  taskRoutes,
  fileRoutes,
  assistantRoutes,
  agentRoutes,
  profileRoutes,
  memoryRoutes,
  skillRoutes,
  mcpRoutes,
  signInRoutes,
  userRoutes,
  modelRoutes,
  suggestionRoutes,
  featureRoutes,
  systemRoutes,
].flatMap((routes) => Object.values<RouteContract>(routes));
