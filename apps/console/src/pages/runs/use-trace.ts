import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type LoadedTrace, loadTrace, type Traced } from '../../api/trace.js';

const REFRESH_MS = 1_500;

/** The trace of a run; while the run has not ended, what is new is read again and again. */
export function useTrace(traced: Traced) {
  const client = useQueryClient();
  const queryKey = ['trace', traced];
  return useQuery({
    queryKey,
    queryFn: ({ signal }) => loadTrace(traced, client.getQueryData<LoadedTrace>(queryKey), signal),
    refetchInterval: ({ state }) => (state.data !== undefined && isUnderWay(state.data) ? REFRESH_MS : false),
  });
}

/** Whether entries may follow. */
export function isUnderWay({ run, entries }: Pick<LoadedTrace, 'run' | 'entries'>): boolean {
  const hasEnded = entries.some(({ type }) => type === 'ended');
  return run.status === 'pending' || run.status === 'running' ? !hasEnded : false;
}
