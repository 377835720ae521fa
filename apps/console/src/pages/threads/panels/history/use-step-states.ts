import type { threadRoutes } from '@caribou/contracts';
import { useQuery } from '@tanstack/react-query';
import { endpoint } from '../../../../api/endpoint.js';
import { ApiError } from '../../../../api/request.js';
import { useConversation } from '../../conversation-context.js';
import type { Step } from './checkpoints.js';

const readState = endpoint<typeof threadRoutes.stateAt>('GET', '/threads/:thread_id/state/:checkpoint_id');

type Values = Readonly<Record<string, unknown>>;

/** The values of a step and of the one before it; those before the first step that is stored are empty. */
export function useStepStates({ id, parentId }: Step) {
  const after = useValues(id);
  const before = useValues(parentId);
  const refetch = (): void => {
    void after.refetch();
    void before.refetch();
  };
  return { after: after.data, before: before.data, error: after.error ?? before.error, refetch };
}

function useValues(checkpointId: string | undefined) {
  const { threadId } = useConversation();
  return useQuery({
    queryKey: ['threads', threadId, 'state-at', checkpointId ?? 'none'],
    queryFn: ({ signal }) => (checkpointId === undefined ? {} : valuesAt(threadId, checkpointId, signal)),
    // A checkpoint never changes; states are large, so few of them are stored.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 30_000,
  });
}

async function valuesAt(threadId: string, checkpointId: string, signal: AbortSignal): Promise<Values> {
  try {
    const state = await readState({
      params: { thread_id: threadId, checkpoint_id: checkpointId },
      query: { select: ['values'] },
      signal,
    });
    return state.values ?? {};
  } catch (error) {
    // Older checkpoints may have been removed.
    if (error instanceof ApiError && error.status === 404) return {};
    throw error;
  }
}
