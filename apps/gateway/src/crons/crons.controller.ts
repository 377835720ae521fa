import { Controller, Req } from '@nestjs/common';
import { cronRoutes, isRecord, type RouteInput } from '@caribou/contracts';
import type { FastifyRequest } from 'fastify';
import { keyLabel, type Principal } from '../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { type CronRequester, CronsService } from './crons.service.js';

type Of<Name extends keyof typeof cronRoutes> = RouteInput<(typeof cronRoutes)[Name]>;

@Controller(API_ROOTS)
export class CronsController {
  constructor(private readonly crons: CronsService) {}

  @Route(cronRoutes.create)
  create(@Caller() caller: Principal, @Input() { body }: Of<'create'>, @Req() request: FastifyRequest) {
    return this.crons.create(requesterOf(caller, request), body, null);
  }

  @Route(cronRoutes.createForThread)
  createForThread(@Caller() caller: Principal, @Input() input: Of<'createForThread'>, @Req() request: FastifyRequest) {
    return this.crons.create(requesterOf(caller, request), input.body, input.params.thread_id);
  }

  @Route(cronRoutes.search)
  search(@Caller() { userId }: Principal, @Input() { body }: Of<'search'>) {
    return this.crons.search(userId, body);
  }

  @Route(cronRoutes.count)
  count(@Caller() { userId }: Principal, @Input() { body }: Of<'count'>) {
    return this.crons.count(userId, body);
  }

  @Route(cronRoutes.update)
  update(@Caller() caller: Principal, @Input() { params, body }: Of<'update'>, @Req() request: FastifyRequest) {
    return this.crons.update(requesterOf(caller, request), params.cron_id, body);
  }

  @Route(cronRoutes.remove)
  remove(@Caller() { userId }: Principal, @Input() { params }: Of<'remove'>) {
    return this.crons.remove(userId, params.cron_id);
  }
}

const requesterOf = (caller: Principal, { body }: FastifyRequest): CronRequester => ({
  userId: caller.userId,
  apiKey: keyLabel(caller),
  sent: isRecord(body) ? body : {},
});
