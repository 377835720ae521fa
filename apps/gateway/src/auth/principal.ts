import { UnauthenticatedError } from '@caribou/contracts';
import type { FastifyRequest } from 'fastify';

/** Who a request is from. */
export interface Principal {
  readonly userId: string;
  /** May see and change what holds for all users. */
  readonly admin: boolean;
  /** Absent: a program with a key, or everybody, where nobody signs in. */
  readonly session?: { readonly email: string; readonly remembered: boolean };
}

const principals = new WeakMap<FastifyRequest['raw'], Principal>();

/** Set by the guard, and by nothing else. */
export function setPrincipal(request: FastifyRequest, principal: Principal): void {
  principals.set(request.raw, principal);
}

/** @throws {UnauthenticatedError} when no guard has let the request in: a route without one answers nobody */
export function principalOf(request: FastifyRequest): Principal {
  const principal = principals.get(request.raw);
  if (principal === undefined) throw new UnauthenticatedError('an API key is needed');
  return principal;
}

export const findPrincipal = (request: FastifyRequest): Principal | undefined => principals.get(request.raw);
