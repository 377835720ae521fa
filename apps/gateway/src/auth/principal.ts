import { NotFoundError, UnauthenticatedError } from '@caribou/contracts';
import type { FastifyRequest } from 'fastify';
import { RequestValue } from '../http/request-value.js';

/** The authenticated sender of a request. */
export interface Principal {
  readonly userId: string;
  /** Whether the sender may see and change the settings of all users. */
  readonly admin: boolean;
  /** Identifies the API key of the request, whatever its secret is at the time; absent when the sender used none. */
  readonly keyId?: string;
  /** The sender's session; absent for API keys and when sign-in is disabled. */
  readonly session?: { readonly email: string; readonly remembered: boolean };
}

/** Characters of the id of an API key that usage is shown by. */
const KEY_LABEL_CHARS = 12;

/** The id of an API key as usage and budgets show it. */
export const shortLabel = (keyId: string): string => keyId.slice(0, KEY_LABEL_CHARS);

/** The id of the API key as usage shows it; undefined when the sender used none. */
export const keyLabel = ({ keyId }: Principal): string | undefined =>
  keyId === undefined ? undefined : shortLabel(keyId);

const principals = new RequestValue<Principal>('principal');

/** Stores the principal of a request. Only the request guard calls this. */
export function setPrincipal(request: FastifyRequest, principal: Principal): void {
  principals.set(request.raw, principal);
}

/**
 * @throws {UnauthenticatedError} when no guard has authenticated the request, so that an unguarded route answers nobody
 */
export function principalOf(request: FastifyRequest): Principal {
  const principal = principals.get(request.raw);
  if (principal === undefined) throw new UnauthenticatedError('an API key is needed');
  return principal;
}

export const findPrincipal = (request: FastifyRequest): Principal | undefined => principals.get(request.raw);

/**
 * Checks that the sender may act on threads of a user: their own, or as an administrator anybody's.
 *
 * @throws {NotFoundError} as for a user who does not exist
 */
export function assertMayRead({ admin, userId: own }: Principal, userId: string): void {
  if (!admin && userId !== own) throw new NotFoundError(`user_id: there is no user "${userId}"`);
}
