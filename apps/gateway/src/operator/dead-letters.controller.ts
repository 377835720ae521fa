import { Controller, Req } from '@nestjs/common';
import { deadLetterRoutes, type RouteInput } from '@caribou/contracts';
import type { FastifyRequest } from 'fastify';
import { API_ROOTS, Input, Route } from '../http/route.decorators.js';
import { actorOf } from './admin-audit.js';
import { DeadLettersService } from './dead-letters.service.js';

type Of<Name extends keyof typeof deadLetterRoutes> = RouteInput<(typeof deadLetterRoutes)[Name]>;

@Controller(API_ROOTS)
export class DeadLettersController {
  constructor(private readonly letters: DeadLettersService) {}

  @Route(deadLetterRoutes.list)
  list(@Input() { query }: Of<'list'>) {
    return this.letters.list(query);
  }

  @Route(deadLetterRoutes.replay)
  replay(@Input() { params }: Of<'replay'>, @Req() request: FastifyRequest) {
    return this.letters.replay(params.letter_id, actorOf(request));
  }

  @Route(deadLetterRoutes.drop)
  drop(@Input() { params }: Of<'drop'>, @Req() request: FastifyRequest) {
    return this.letters.drop(params.letter_id, actorOf(request));
  }
}
