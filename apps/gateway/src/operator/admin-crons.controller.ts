import { Controller, Req } from '@nestjs/common';
import { adminCronRoutes, type RouteInput } from '@caribou/contracts';
import type { FastifyRequest } from 'fastify';
import { API_ROOTS, Input, Route } from '../http/route.decorators.js';
import { actorOf } from './admin-audit.js';
import { AdminCronsService } from './admin-crons.service.js';

type Of<Name extends keyof typeof adminCronRoutes> = RouteInput<(typeof adminCronRoutes)[Name]>;

@Controller(API_ROOTS)
export class AdminCronsController {
  constructor(private readonly crons: AdminCronsService) {}

  @Route(adminCronRoutes.list)
  list(@Input() { query }: Of<'list'>) {
    return this.crons.list(query);
  }

  @Route(adminCronRoutes.pause)
  pause(@Input() { params }: Of<'pause'>, @Req() request: FastifyRequest) {
    return this.crons.pause({ userId: params.user_id, cronId: params.cron_id }, actorOf(request));
  }

  @Route(adminCronRoutes.remove)
  remove(@Input() { params }: Of<'remove'>, @Req() request: FastifyRequest) {
    return this.crons.remove({ userId: params.user_id, cronId: params.cron_id }, actorOf(request));
  }
}
