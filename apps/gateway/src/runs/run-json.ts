import type { RunRecord, RunReply, RunSummary } from '@caribou/contracts';
import { stableId } from './streams/projections/stable-id.js';

/** A run as clients see it: without its owner and what only the loop needs. */
export const runJson = (run: RunRecord): RunReply => ({ ...summaryJson(run), kwargs: kwargsJson(run) });

/** A run as lists show it: of what it was asked to do, which may be large, only what it runs on. */
export function summaryJson(run: RunSummary): RunReply {
  return {
    run_id: run.run_id,
    thread_id: run.thread_id,
    assistant_id: stableId(run.assistant_id),
    status: run.status,
    metadata: run.metadata,
    kwargs: { config: { configurable: configurableOf(run) } },
    multitask_strategy: run.multitask_strategy,
    created_at: run.created_at,
    updated_at: run.updated_at,
    total_input_tokens: run.total_input_tokens,
    total_output_tokens: run.total_output_tokens,
    total_tokens: run.total_tokens,
    llm_call_count: run.llm_call_count,
    lead_agent_tokens: run.lead_agent_tokens,
    subagent_tokens: run.subagent_tokens,
    middleware_tokens: run.middleware_tokens,
    stop_reason: run.stop_reason,
    error: run.error,
  };
}

const configurableOf = ({ run_id, thread_id, assistant_id }: RunSummary) => ({
  ...{ run_id, thread_id, graph_id: assistant_id, assistant_id: stableId(assistant_id) },
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
    temporary,
    subgraphs: stream_subgraphs,
    resumable: true,
  };
}
