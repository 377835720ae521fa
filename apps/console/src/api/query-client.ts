import { QueryClient } from '@tanstack/react-query';
import { ApiError } from './request.js';

const MAX_RETRIES = 5;
const MAX_RETRY_MS = 10_000;

/** Reads are repeated while the server is away or busy; a refusal is shown at once. Changes are never repeated. */
export const createQueryClient = (): QueryClient =>
  new QueryClient({
    defaultOptions: {
      queries: {
        // The gateway may be on this machine, which a browser without a network does not know.
        networkMode: 'always',
        staleTime: 5_000,
        retry: (failures, error) => failures < MAX_RETRIES && isTemporary(error),
        retryDelay: (failures, error) =>
          error instanceof ApiError && error.retryAfterSeconds !== undefined
            ? Math.min(error.retryAfterSeconds * 1_000, MAX_RETRY_MS)
            : Math.min(500 * 2 ** failures, MAX_RETRY_MS),
      },
      mutations: { networkMode: 'always', retry: false },
    },
  });

/** Whether the same request may succeed later. */
export const isTemporary = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status >= 500);
