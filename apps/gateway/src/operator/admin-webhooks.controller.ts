import { Controller, Req } from '@nestjs/common';
import {
  type AdminWebhookEventReply,
  type AdminWebhookEventsReply,
  adminWebhookRoutes,
  ConflictError,
  NotFoundError,
  type RouteInput,
} from '@caribou/contracts';
import type { OutboxStore } from '@caribou/state';
import type { FastifyRequest } from 'fastify';
import { Dependency } from '../dependency.js';
import { API_ROOTS, Input, Route } from '../http/route.decorators.js';
import { actorOf, adminLine } from './admin-audit.js';

type Of<Name extends keyof typeof adminWebhookRoutes> = RouteInput<(typeof adminWebhookRoutes)[Name]>;
type UserEvent = Awaited<ReturnType<OutboxStore['page']>>['events'][number];

@Controller(API_ROOTS)
export class AdminWebhooksController {
  constructor(@Dependency('outbox') private readonly outbox: OutboxStore) {}

  @Route(adminWebhookRoutes.list)
  async list(@Input() { query }: Of<'list'>): Promise<AdminWebhookEventsReply> {
    const { user, limit, cursor } = query;
    const page = user === undefined ? await this.outbox.page({ limit, cursor }) : await this.ofUser(user);
    return { events: page.events.map(eventJson), next_cursor: page.nextCursor };
  }

  @Route(adminWebhookRoutes.retry)
  async retry(@Input() { params }: Of<'retry'>, @Req() request: FastifyRequest): Promise<void> {
    const { user_id: userId, event_id: eventId } = params;
    const act = { operation: 'webhook.retry', what: eventId, userId, runId: eventId } as const;
    const outcome = await this.outbox.hasten(userId, eventId, adminLine(act, actorOf(request)));
    if (outcome === 'none') throw new NotFoundError('no such event waits: it was delivered or given up');
    if (outcome === 'busy') throw new ConflictError('an attempt to deliver the event is under way');
  }

  private async ofUser(userId: string) {
    const { waiting } = await this.outbox.list(userId);
    return { events: waiting.map((event) => ({ ...event, user_id: userId })), nextCursor: null };
  }
}

const eventJson = ({ url, ...event }: UserEvent): AdminWebhookEventReply => ({
  event_id: event.event_id,
  user_id: event.user_id,
  thread_id: event.thread_id,
  host: URL.canParse(url) ? new URL(url).host : '',
  status: event.status,
  ended_at: event.ended_at,
  attempts: event.attempts,
  error: event.error,
  next_attempt_at: event.next_attempt_at,
});
