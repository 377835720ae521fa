import { agentRoutes, profileRoutes } from './agents.js';
import { assistantRoutes } from './assistants.js';
import { fileRoutes } from './files.js';
import { memoryRoutes } from './memory.js';
import { mcpRoutes } from './mcp.js';
import type { RouteContract } from './route.js';
import { runRoutes, statelessRoutes } from './runs.js';
import { skillRoutes } from './skills.js';
import { systemRoutes } from './system.js';
import { taskRoutes } from './tasks.js';
import { threadRoutes } from './threads.js';

/** Every route of the gateway, in the order of the documentation. */
export const httpRoutes: readonly RouteContract[] = [
  threadRoutes,
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
  systemRoutes,
].flatMap((routes) => Object.values<RouteContract>(routes));
