import { featureRoutes, type FeaturesReply, type RouteInput } from '@caribou/contracts';
import type { ThreadStore } from '@caribou/state';
import { Controller } from '@nestjs/common';
import type { Principal } from '../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { Dependency } from '../dependency.js';
import type { GatewaySettings } from '../settings.js';

/** Routes by which web clients learn the available features, and routes of features that do not exist here. */
@Controller(API_ROOTS)
export class FeaturesController {
  constructor(
    @Dependency('threadStore') private readonly threads: Pick<ThreadStore, 'getThread'>,
    @Dependency('settings') private readonly settings: GatewaySettings,
  ) {}

  @Route(featureRoutes.features)
  features(): FeaturesReply {
    return {
      agents_api: { enabled: this.settings.agentsApi.enabled },
      browser_control: { enabled: false },
      goals: { enabled: this.settings.goals.enabled },
      input_polish: { enabled: this.settings.inputPolish.enabled },
      mcp_tasks: { enabled: false },
      scheduled_tasks: {
        ...{ available: true, running: true, tool_enabled: false },
        min_interval_seconds: this.settings.crons.minIntervalSeconds,
      },
    };
  }

  @Route(featureRoutes.channels)
  channels() {
    return { enabled: false, providers: [] };
  }

  @Route(featureRoutes.channelConnections)
  channelConnections() {
    return { connections: [] };
  }

  /** @throws {NotFoundError} for an unknown thread */
  @Route(featureRoutes.mcpTasks)
  async mcpTasks(@Caller() { userId }: Principal, @Input() { params }: RouteInput<typeof featureRoutes.mcpTasks>) {
    await this.threads.getThread({ userId, threadId: params.thread_id });
    return [];
  }
}
