import { useQuery } from '@tanstack/react-query';
import { getStateAt } from '../../api/trace.js';
import { Failure, Loading } from '../../components/notice.js';
import { explain } from '../../text/explain.js';
import { BoundedText } from './bounded-text.js';

/** The state of a thread at a checkpoint, as JSON. */
export function StateView({ threadId, checkpointId }: { readonly threadId: string; readonly checkpointId: string }) {
  const state = useQuery({
    queryKey: ['state-at', threadId, checkpointId],
    queryFn: ({ signal }) => getStateAt({ params: { thread_id: threadId, checkpoint_id: checkpointId }, signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (state.isPending) return <Loading />;
  if (state.error !== null) return <Failure error={state.error} onRetry={() => void state.refetch()} />;
  return (
    <section aria-label={explain.state}>
      <BoundedText text={JSON.stringify(state.data, null, 2)} />
    </section>
  );
}
