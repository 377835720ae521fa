import { featureRoutes, type FeaturesReply, httpRoutes } from '@caribou/contracts';
import { Controller } from '@nestjs/common';
import { API_ROOTS, Route } from '../http/route.decorators.js';

/** Whether agents of one's own can be listed. */
const hasAgents = httpRoutes.some(({ method, path }) => method === 'GET' && path === '/agents');

/** What pages may offer, and what they ask for that is not here. */
@Controller(API_ROOTS)
export class FeaturesController {
  @Route(featureRoutes.features)
  features(): FeaturesReply {
    return {
      agents_api: { enabled: hasAgents },
      browser_control: { enabled: false },
      mcp_tasks: { enabled: false },
    };
  }

  @Route(featureRoutes.channels)
  channels() {
    return { enabled: false, providers: [] };
  }

  @Route(featureRoutes.scheduledTasks)
  scheduledTasks() {
    return [];
  }

  @Route(featureRoutes.scheduledTasksOfThread)
  scheduledTasksOfThread() {
    return [];
  }

  @Route(featureRoutes.mcpTasks)
  mcpTasks() {
    return [];
  }

  @Route(featureRoutes.goal)
  goal() {
    return { goal: null };
  }
}
