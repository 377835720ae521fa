import { type RouteInput, signInRoutes, type UserReply } from '@caribou/contracts';
import { Controller, Header, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { Dependency } from '../dependency.js';
import type { GatewaySettings } from '../settings.js';
import type { Principal } from './principal.js';
import { accessToken, clearSessionCookies, type CookieTarget, setSessionCookies } from './session-cookies.js';
import { SignInService } from './sign-in.service.js';

type Of<Name extends keyof typeof signInRoutes> = RouteInput<(typeof signInRoutes)[Name]>;

/** The sign-in routes of DeerFlow's newer web client. A session consists of two cookies. */
@Controller(API_ROOTS)
export class SignInController {
  constructor(
    private readonly signIn: SignInService,
    @Dependency('settings') private readonly settings: GatewaySettings,
  ) {}

  @Route(signInRoutes.me)
  @Header('cache-control', 'no-store')
  me(@Caller() caller: Principal): UserReply {
    return userReply(caller);
  }

  @Route(signInRoutes.setupStatus)
  setupStatus() {
    return this.signIn.status();
  }

  @Route(signInRoutes.providers)
  providers() {
    return { providers: [] };
  }

  @Route(signInRoutes.initialize)
  async initialize(
    @Input() { body }: Of<'initialize'>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<UserReply> {
    const { principal, session } = await this.signIn.initialize({ body, address: request.ip });
    setSessionCookies(this.cookiesOf(request, reply), session);
    return userReply(principal);
  }

  @Route(signInRoutes.register)
  async register(
    @Input() { body }: Of<'register'>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<UserReply> {
    const { principal, session } = await this.signIn.register({ body, address: request.ip });
    setSessionCookies(this.cookiesOf(request, reply), session);
    return userReply(principal);
  }

  @Route(signInRoutes.login)
  async login(
    @Input() { body }: Of<'login'>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const { session } = await this.signIn.login({ body, address: request.ip });
    setSessionCookies(this.cookiesOf(request, reply), session);
    return { expires_in: Math.floor(session.ttlMs / 1_000), needs_setup: false };
  }

  @Route(signInRoutes.logout)
  async logout(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    await this.signIn.logout(accessToken(request));
    clearSessionCookies(this.cookiesOf(request, reply));
    return { message: 'signed out' };
  }

  @Route(signInRoutes.changePassword)
  async changePassword(
    @Caller() caller: Principal,
    @Input() { body }: Of<'changePassword'>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const { session } = await this.signIn.changePassword(caller, { body, address: request.ip });
    setSessionCookies(this.cookiesOf(request, reply), session);
    return { message: 'the password was changed; all other sessions are over' };
  }

  private cookiesOf(request: FastifyRequest, reply: FastifyReply): CookieTarget {
    return { request, reply, secureCookies: this.settings.auth.secureCookies };
  }
}

/**
 * The user as clients see it. A user without an account has an address that cannot exist (RFC 2606), as clients need
 * one.
 */
const userReply = ({ userId, admin, session }: Principal): UserReply => ({
  id: userId,
  email: session?.email ?? `${userId}@caribou.invalid`,
  system_role: admin ? 'admin' : 'user',
  needs_setup: false,
  oauth_provider: null,
});
