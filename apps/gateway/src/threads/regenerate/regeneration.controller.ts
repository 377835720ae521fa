import { type EditReplayReply, type ReplayReply, replayRoutes, type RouteInput } from '@caribou/contracts';
import { Controller } from '@nestjs/common';
import type { Principal } from '../../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../../http/route.decorators.js';
import { RegenerationService } from './regeneration.service.js';

@Controller(API_ROOTS)
export class RegenerationController {
  constructor(private readonly regeneration: RegenerationService) {}

  @Route(replayRoutes.regenerate)
  regenerate(
    @Caller() { userId }: Principal,
    @Input() { params, body }: RouteInput<typeof replayRoutes.regenerate>,
  ): Promise<ReplayReply> {
    return this.regeneration.regenerate({ userId, threadId: params.thread_id }, body.message_id);
  }

  @Route(replayRoutes.edit)
  edit(
    @Caller() { userId }: Principal,
    @Input() { params, body }: RouteInput<typeof replayRoutes.edit>,
  ): Promise<EditReplayReply> {
    const thread = { userId, threadId: params.thread_id };
    return this.regeneration.edit(thread, body.human_message_id, body.replacement_text);
  }
}
