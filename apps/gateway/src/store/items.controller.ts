import { Controller, Req, Res } from '@nestjs/common';
import { itemRoutes, type RouteInput } from '@caribou/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Principal } from '../auth/principal.js';
import { addStoreWork } from '../http/request-budget.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { ItemsService } from './items.service.js';

type Of<Name extends keyof typeof itemRoutes> = RouteInput<(typeof itemRoutes)[Name]>;

@Controller(API_ROOTS)
export class ItemsController {
  constructor(private readonly items: ItemsService) {}

  @Route(itemRoutes.put)
  put(@Caller() { userId }: Principal, @Input() { body }: Of<'put'>) {
    return this.items.put(userId, body);
  }

  @Route(itemRoutes.get)
  async get(@Caller() { userId }: Principal, @Input() { query }: Of<'get'>, @Res() reply: FastifyReply) {
    const { refresh_ttl: refresh = true, ...item } = query;
    const found = await this.items.get(userId, item, refresh);
    await reply.type('application/json').send(JSON.stringify(found));
  }

  @Route(itemRoutes.remove)
  remove(@Caller() { userId }: Principal, @Input() { body }: Of<'remove'>) {
    return this.items.remove(userId, { namespace: body.namespace, key: body.key });
  }

  @Route(itemRoutes.search)
  async search(@Caller() { userId }: Principal, @Input() { body }: Of<'search'>, @Req() request: FastifyRequest) {
    const { items, readBytes } = await this.items.search(userId, body);
    addStoreWork(request, readBytes);
    return { items };
  }

  @Route(itemRoutes.namespaces)
  async namespaces(@Caller() { userId }: Principal, @Input() { body }: Of<'namespaces'>) {
    return { namespaces: await this.items.namespaces(userId, body) };
  }
}
