import { type RouteInput, type SessionReply, signInRoutes } from '@caribou/contracts';
import { Controller, Header, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Principal } from '../auth/principal.js';
import { accessToken, clearSessionCookies } from '../auth/session-cookies.js';
import { sessionKeyOf } from '../auth/session-token.js';
import { Dependency } from '../dependency.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import type { GatewaySettings } from '../settings.js';
import { type SessionOwner, SessionsService } from './sessions.service.js';

@Controller(API_ROOTS)
export class SessionsController {
  constructor(
    private readonly sessions: SessionsService,
    @Dependency('settings') private readonly settings: GatewaySettings,
  ) {}

  @Route(signInRoutes.sessions)
  @Header('cache-control', 'no-store')
  async list(@Caller() caller: Principal, @Req() request: FastifyRequest): Promise<{ sessions: SessionReply[] }> {
    return { sessions: await this.sessions.list(ownerOf(caller, request)) };
  }

  @Route(signInRoutes.endSession)
  async end(
    @Caller() caller: Principal,
    @Input() { params }: RouteInput<typeof signInRoutes.endSession>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    const wasCurrent = await this.sessions.end(ownerOf(caller, request), params.session_id);
    if (wasCurrent) clearSessionCookies({ request, reply, secureCookies: this.settings.auth.secureCookies });
  }

  @Route(signInRoutes.endOtherSessions)
  async endOthers(@Caller() caller: Principal, @Req() request: FastifyRequest): Promise<{ ended: number }> {
    return { ended: await this.sessions.endOthers(ownerOf(caller, request)) };
  }
}

/** A cookie counts only when the request was authenticated by it. */
function ownerOf({ userId, session }: Principal, request: FastifyRequest): SessionOwner {
  const token = session === undefined ? undefined : accessToken(request);
  return { userId, current: token === undefined ? undefined : sessionKeyOf(token)?.digest };
}
