import type { signInRoutes } from '@caribou/contracts';
import { useQuery } from '@tanstack/react-query';
import { endpoint } from './endpoint.js';

const getMe = endpoint<typeof signInRoutes.me>('GET', '/v1/auth/me');

/** The person at the page: of the session, of the API key, or the local user. */
export const useMe = () =>
  useQuery({ queryKey: ['me'], queryFn: ({ signal }) => getMe({ signal }), staleTime: 60_000 });
