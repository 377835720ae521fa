import { Controller } from '@nestjs/common';
import { type WebhookEventsReply, webhookRoutes } from '@caribou/contracts';
import type { OutboxStore } from '@caribou/state';
import type { Principal } from '../auth/principal.js';
import { Dependency } from '../dependency.js';
import { API_ROOTS, Caller, Route } from '../http/route.decorators.js';

@Controller(API_ROOTS)
export class WebhooksController {
  constructor(@Dependency('outbox') private readonly outbox: OutboxStore) {}

  @Route(webhookRoutes.list)
  async list(@Caller() { userId }: Principal): Promise<WebhookEventsReply> {
    const { waiting, failed } = await this.outbox.list(userId);
    return { waiting: [...waiting], failed: [...failed] };
  }
}
