import type { accountRoutes, apiKeyRoutes, userRoutes } from '@caribou/contracts';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { endpoint } from '../../../api/endpoint.js';

const listKeys = endpoint<typeof apiKeyRoutes.list>('GET', '/admin/keys');
export const createKey = endpoint<typeof apiKeyRoutes.create>('POST', '/admin/keys');
export const rotateKey = endpoint<typeof apiKeyRoutes.rotate>('POST', '/admin/keys/:key_id/rotate');
export const revokeKey = endpoint<typeof apiKeyRoutes.revoke>('DELETE', '/admin/keys/:key_id');
const listUsers = endpoint<typeof accountRoutes.list>('GET', '/admin/users');
export const setRole = endpoint<typeof accountRoutes.setRole>('POST', '/admin/users/:user_id/role');
export const endSessions = endpoint<typeof accountRoutes.endSessions>('POST', '/admin/users/:user_id/sessions/end');
export const eraseUser = endpoint<typeof userRoutes.erase>('DELETE', '/users/:user_id');

export type ApiKey = Awaited<ReturnType<typeof listKeys>>['keys'][number];
export type IssuedKey = Awaited<ReturnType<typeof createKey>>;
export type User = Awaited<ReturnType<typeof listUsers>>['users'][number];

export const KEYS = ['admin', 'keys'] as const;
export const USERS = ['admin', 'users'] as const;
/** Rows of a page. */
export const PAGE_SIZE = 50;

export const useKeys = (offset: number) =>
  useQuery({
    queryKey: [...KEYS, offset],
    queryFn: ({ signal }) => listKeys({ query: { limit: PAGE_SIZE, offset }, signal }),
    placeholderData: keepPreviousData,
  });

export const useUsers = (offset: number) =>
  useQuery({
    queryKey: [...USERS, offset],
    queryFn: ({ signal }) => listUsers({ query: { limit: PAGE_SIZE, offset }, signal }),
    placeholderData: keepPreviousData,
  });
