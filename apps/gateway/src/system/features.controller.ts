import { featureRoutes, type FeaturesReply, type RouteInput } from '@caribou/contracts';
import type { ThreadStore } from '@caribou/state';
import { Controller } from '@nestjs/common';
import type { Principal } from '../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { Dependency } from '../dependency.js';
import type { GatewaySettings } from '../settings.js';

type OfThread = RouteInput<typeof featureRoutes.goal>;

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
      input_polish: { enabled: this.settings.inputPolish.enabled },
      mcp_tasks: { enabled: false },
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

  @Route(featureRoutes.mcpTasks)
  mcpTasks(@Caller() caller: Principal, @Input() input: OfThread) {
    return this.replyIfThreadExists(caller, input, []);
  }

  @Route(featureRoutes.goal)
  goal(@Caller() caller: Principal, @Input() input: OfThread) {
    return this.replyIfThreadExists(caller, input, { goal: null });
  }

  /** @throws {NotFoundError} for an unknown thread */
  private async replyIfThreadExists<Nothing>(
    { userId }: Principal,
    { params }: OfThread,
    nothing: Nothing,
  ): Promise<Nothing> {
    await this.threads.getThread({ userId, threadId: params.thread_id });
    return nothing;
  }
}
