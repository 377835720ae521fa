import { httpRoutes, type RouteContract, type RouteRole } from '@caribou/contracts';
import type { FastifyRequest } from 'fastify';
import { API_ROOTS } from '../http/route.decorators.js';

const nameOf = (method: string, pattern: string): string => `${method} ${pattern}`;

/** The patterns under which a route is registered, one for each API root. */
export const patternsOf = ({ path, root }: Pick<RouteContract, 'path' | 'root'>): readonly string[] =>
  root ? [path] : API_ROOTS.map((apiRoot) => `/${apiRoot}${path}`);

const roles: ReadonlyMap<string, RouteRole> = new Map(
  httpRoutes.flatMap((route) =>
    patternsOf(route).map((pattern): [string, RouteRole] => [nameOf(route.method, pattern), route.role]),
  ),
);

/**
 * The role that the contract of the request's matched route requires. Requests that match no contract, such as those for
 * unknown paths, are for users, so that nobody finds out without credentials which paths there are.
 */
export function requiredRole({
  method,
  routeOptions: { url },
}: Pick<FastifyRequest, 'method' | 'routeOptions'>): RouteRole {
  if (url === undefined) return 'user';
  return roles.get(nameOf(method === 'HEAD' ? 'GET' : method, url)) ?? 'user';
}
