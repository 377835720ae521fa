import { Controller, Req } from '@nestjs/common';
import { adminRunRoutes, type RouteInput } from '@caribou/contracts';
import type { FastifyRequest } from 'fastify';
import { API_ROOTS, Input, Route } from '../http/route.decorators.js';
import { actorOf } from './admin-audit.js';
import { AdminRunsService } from './admin-runs.service.js';

type Of<Name extends keyof typeof adminRunRoutes> = RouteInput<(typeof adminRunRoutes)[Name]>;

@Controller(API_ROOTS)
export class AdminRunsController {
  constructor(private readonly runs: AdminRunsService) {}

  @Route(adminRunRoutes.list)
  list(@Input() { query }: Of<'list'>) {
    return this.runs.list(query);
  }

  @Route(adminRunRoutes.cancel)
  cancel(@Input() { body }: Of<'cancel'>, @Req() request: FastifyRequest) {
    return this.runs.cancel(body, actorOf(request));
  }
}
