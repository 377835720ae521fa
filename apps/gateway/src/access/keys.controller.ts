import { type ApiKeyPageReply, apiKeyRoutes, type IssuedKeyReply, type RouteInput } from '@caribou/contracts';
import { Controller, Header, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { KeysService } from './keys.service.js';

type Of<Name extends keyof typeof apiKeyRoutes> = RouteInput<(typeof apiKeyRoutes)[Name]>;

/** Routes by which administrators manage API keys. */
@Controller(API_ROOTS)
export class KeysController {
  constructor(private readonly keys: KeysService) {}

  @Route(apiKeyRoutes.list)
  list(@Input() { query }: Of<'list'>): Promise<ApiKeyPageReply> {
    return this.keys.list(query);
  }

  @Route(apiKeyRoutes.create)
  @Header('cache-control', 'no-store')
  create(
    @Caller() caller: Principal,
    @Input() { body }: Of<'create'>,
    @Req() { ip }: FastifyRequest,
  ): Promise<IssuedKeyReply> {
    return this.keys.create({ caller, address: ip }, body);
  }

  @Route(apiKeyRoutes.rotate)
  @Header('cache-control', 'no-store')
  rotate(
    @Caller() caller: Principal,
    @Input() { params, body }: Of<'rotate'>,
    @Req() { ip }: FastifyRequest,
  ): Promise<IssuedKeyReply> {
    return this.keys.rotate({ caller, address: ip }, params.key_id, body.overlap_seconds);
  }

  @Route(apiKeyRoutes.revoke)
  revoke(@Caller() caller: Principal, @Input() { params }: Of<'revoke'>, @Req() { ip }: FastifyRequest): Promise<void> {
    return this.keys.revoke({ caller, address: ip }, params.key_id);
  }
}
