import { Controller } from '@nestjs/common';
import { profileRoutes, type RouteInput } from '@caribou/contracts';
import type { Principal } from '../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { AgentsService } from './agents.service.js';

@Controller(API_ROOTS)
export class ProfileController {
  constructor(private readonly agents: AgentsService) {}

  @Route(profileRoutes.get)
  get(@Caller() { userId }: Principal) {
    return this.agents.profile(userId);
  }

  @Route(profileRoutes.set)
  set(@Caller() { userId }: Principal, @Input() { body }: RouteInput<typeof profileRoutes.set>) {
    return this.agents.setProfile(userId, body.content);
  }
}
