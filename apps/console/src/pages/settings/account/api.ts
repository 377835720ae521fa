import type { signInRoutes, userRoutes } from '@caribou/contracts';
import { useQuery } from '@tanstack/react-query';
import { endpoint } from '../../../api/endpoint.js';

const listSessions = endpoint<typeof signInRoutes.sessions>('GET', '/v1/auth/sessions');
export const endSession = endpoint<typeof signInRoutes.endSession>('DELETE', '/v1/auth/sessions/:session_id');
export const endOtherSessions = endpoint<typeof signInRoutes.endOtherSessions>('DELETE', '/v1/auth/sessions');
export const eraseMe = endpoint<typeof userRoutes.eraseMe>('DELETE', '/users/me');

export type Session = Awaited<ReturnType<typeof listSessions>>['sessions'][number];

export const SESSIONS = ['sessions'] as const;

export const useSessions = () =>
  useQuery({ queryKey: [...SESSIONS], queryFn: ({ signal }) => listSessions({ signal }) });
