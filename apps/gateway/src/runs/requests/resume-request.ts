import { ConflictError, RunCreate, type RunRecord, type ThreadInterrupts } from '@caribou/contracts';
import { parse } from '../../http/parse-input.js';

/**
 * The request that continues a paused run with its settings.
 *
 * @throws {ConflictError} when it does not wait to be resumed, or its settings are no longer stored
 */
export function resumeRequest(run: RunRecord, interrupts: ThreadInterrupts | undefined): RunCreate {
  const details = { runId: run.run_id };
  const paused = interrupts?.open.find(({ kind, run_id: by }) => kind === 'paused' && by === run.run_id);
  if (paused === undefined)
    throw new ConflictError('the run cannot be resumed: it is not paused, or was resumed already', { details });
  if (run.kwargs_expired)
    throw new ConflictError(
      `the settings of the run are no longer stored: start a run with command {"resume": {"${paused.id}": true}} and its context`,
      { details },
    );
  const { context, recursion_limit, stream_mode, stream_subgraphs, on_disconnect, ...breakpoints } = run.kwargs;
  const { interrupt_before, interrupt_after } = breakpoints;
  return parse(
    RunCreate,
    {
      ...{ assistant_id: run.assistant_id, command: { resume: { [paused.id]: true } }, context },
      ...{ config: { recursion_limit }, stream_mode, stream_subgraphs, on_disconnect, metadata: run.metadata },
      ...{ interrupt_before, interrupt_after },
    },
    'run',
  );
}
