import { ForbiddenError, type RouteInput, type UsageReply, usageRoutes } from '@caribou/contracts';
import { Controller } from '@nestjs/common';
import type { Principal } from '../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { UsageService } from './usage.service.js';

@Controller(API_ROOTS)
export class UsageController {
  constructor(private readonly usage: UsageService) {}

  @Route(usageRoutes.get)
  async get(@Caller() caller: Principal, @Input() { query }: RouteInput<typeof usageRoutes.get>): Promise<UsageReply> {
    const { user = caller.userId } = query;
    if (user !== caller.userId && !caller.admin)
      throw new ForbiddenError('user: only administrators see the usage of others');
    return await this.usage.read(query, user === '*' ? undefined : user);
  }
}
