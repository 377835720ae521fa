import { type RunRecord, RunReply, type RunSummary } from '@caribou/contracts';
import { stableId } from './streams/projections/stable-id.js';

const runFields = RunReply.keyof().options;

/** A run as clients see it, without the fields that only the agent loop needs; as in lists once its kwargs have expired. */
export const runJson = (run: RunRecord): RunReply =>
  run.kwargs_expired ? summaryJson(run) : replyOf(run, kwargsJson(run));

/** A run as lists show it. Its kwargs may be large, so only the ids of thread and agent are included. */
export const summaryJson = (run: RunSummary): RunReply =>
  replyOf(run, { config: { configurable: configurableOf(run) } });

function replyOf(run: RunSummary, kwargs: RunReply['kwargs']): RunReply {
  const fields: RunReply = { ...run, assistant_id: stableId(run.assistant_id), kwargs };
  return Object.fromEntries(runFields.map((name) => [name, fields[name]])) as RunReply;
}

const configurableOf = ({ run_id, thread_id, assistant_id }: RunSummary) => ({
  run_id,
  thread_id,
  graph_id: assistant_id,
  assistant_id: stableId(assistant_id),
});

function kwargsJson(run: RunRecord): Record<string, unknown> {
  const { kwargs } = run;
  const { input, context, recursion_limit, stream_mode, stream_subgraphs, on_disconnect, temporary } = kwargs;
  return {
    input,
    config: {
      recursion_limit,
      configurable: configurableOf(run),
    },
    context,
    stream_mode,
    on_disconnect,
    interrupt_before: kwargs.interrupt_before,
    interrupt_after: kwargs.interrupt_after,
    webhook: kwargs.webhook,
    after_seconds: kwargs.after_seconds,
    temporary,
    subgraphs: stream_subgraphs,
    resumable: true,
  };
}
