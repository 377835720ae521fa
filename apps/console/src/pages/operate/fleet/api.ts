import type { fleetRoutes, modelStateRoutes, queueRoutes, sandboxRoutes } from '@caribou/contracts';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { endpoint } from '../../../api/endpoint.js';

/** How often the pages ask while they are visible. */
const EVERY_MS = 5_000;
const PAGE_SIZE = 50;

const getFleet = endpoint<typeof fleetRoutes.get>('GET', '/admin/fleet');
const getQueues = endpoint<typeof queueRoutes.get>('GET', '/admin/queues');
const listModels = endpoint<typeof modelStateRoutes.list>('GET', '/admin/models');
const resetCircuit = endpoint<typeof modelStateRoutes.resetCircuit>('POST', '/admin/models/:model_name/circuit/reset');
const listSandboxes = endpoint<typeof sandboxRoutes.list>('GET', '/admin/sandboxes');
const endSandbox = endpoint<typeof sandboxRoutes.end>('DELETE', '/admin/sandboxes/:user_id/:thread_id');

export const useFleet = () =>
  useQuery({ queryKey: ['fleet'], queryFn: ({ signal }) => getFleet({ signal }), refetchInterval: EVERY_MS });

export const useQueues = () =>
  useQuery({ queryKey: ['queues'], queryFn: ({ signal }) => getQueues({ signal }), refetchInterval: EVERY_MS });

export const useModelStates = () =>
  useQuery({ queryKey: ['model-states'], queryFn: ({ signal }) => listModels({ signal }), refetchInterval: EVERY_MS });

export function useResetCircuit() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (name: string) => resetCircuit({ params: { model_name: name } }),
    onSettled: () => client.invalidateQueries({ queryKey: ['model-states'] }),
  });
}

/** A page of sandboxes. @param user of this user only; '': of all @param cursor the `next` of the page before */
export const useSandboxes = (user: string, cursor: string | undefined) =>
  useQuery({
    queryKey: ['sandboxes', user, cursor],
    queryFn: ({ signal }) =>
      listSandboxes({
        query: {
          limit: PAGE_SIZE,
          ...(user === '' ? {} : { user_id: user }),
          ...(cursor === undefined ? {} : { cursor }),
        },
        signal,
      }),
    refetchInterval: EVERY_MS,
    placeholderData: keepPreviousData,
  });

export function useEndSandbox() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ user_id, thread_id, since }: { user_id: string; thread_id: string; since: string }) =>
      endSandbox({ params: { user_id, thread_id }, query: { since } }),
    onSettled: () => client.invalidateQueries({ queryKey: ['sandboxes'] }),
  });
}
