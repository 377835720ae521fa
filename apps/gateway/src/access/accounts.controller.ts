import { type AccountPageReply, type AccountReply, accountRoutes, type RouteInput } from '@caribou/contracts';
import { Controller, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { AccountsService } from './accounts.service.js';

type Of<Name extends keyof typeof accountRoutes> = RouteInput<(typeof accountRoutes)[Name]>;

/** Routes by which administrators manage the accounts of people who sign in. */
@Controller(API_ROOTS)
export class AccountsController {
  constructor(private readonly accounts: AccountsService) {}

  @Route(accountRoutes.list)
  list(@Input() { query }: Of<'list'>): Promise<AccountPageReply> {
    return this.accounts.list(query);
  }

  @Route(accountRoutes.setRole)
  setRole(
    @Caller() caller: Principal,
    @Input() { params, body }: Of<'setRole'>,
    @Req() { ip }: FastifyRequest,
  ): Promise<AccountReply> {
    return this.accounts.setRole({ caller, address: ip }, params.user_id, body.role);
  }

  @Route(accountRoutes.endSessions)
  async endSessions(
    @Caller() caller: Principal,
    @Input() { params }: Of<'endSessions'>,
    @Req() { ip }: FastifyRequest,
  ): Promise<{ readonly ended: number }> {
    return { ended: await this.accounts.endSessions({ caller, address: ip }, params.user_id) };
  }
}
