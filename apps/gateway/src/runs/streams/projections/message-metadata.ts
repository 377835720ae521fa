import type { ProjectionContext } from './frame.js';
import { stableId } from './stable-id.js';

interface Origin {
  readonly node: string;
  readonly step: number;
}

type Metadata = Readonly<Record<string, unknown>>;

/**
 * The run and node that a message or event came from.
 *
 * The namespace of the `tools` node is empty: clients would take a namespace with a segment `tools:` for that of a
 * subagent, and would not show its messages in the conversation.
 */
export function nodeMetadata({ node, step }: Origin, { run, state }: ProjectionContext): Metadata {
  const namespace = node === 'tools' ? '' : `${node}:${stableId(`${run.runId}:${step}:${node}`)}`;
  return {
    graph_id: run.graphId,
    assistant_id: run.assistantId,
    run_attempt: state.attempt,
    thread_id: run.threadId,
    run_id: run.runId,
    langgraph_step: step,
    langgraph_node: node,
    langgraph_triggers: [`branch:to:${node}`],
    langgraph_path: ['__pregel_pull', node],
    langgraph_checkpoint_ns: namespace,
    checkpoint_ns: namespace,
  };
}

/** The metadata of a node, and the name of the model that wrote the message. */
export const modelMetadata = (origin: Origin, context: ProjectionContext): Metadata => ({
  ...nodeMetadata(origin, context),
  ls_provider: 'openai',
  ls_model_name: context.state.model,
  ls_model_type: 'chat',
});

/** The metadata of a model's message as JSON, with empty `tags`. It is serialized once for all deltas of one answer. */
export function messageMetadataText(origin: Origin, context: ProjectionContext): string {
  const { state } = context;
  const known = state.messageMetadata;
  const key = `${state.attempt} ${origin.step} ${origin.node} ${state.model}`;
  if (known?.key === key) return known.text;
  const text = JSON.stringify({ tags: [], ...modelMetadata(origin, context) });
  state.messageMetadata = { key, text };
  return text;
}
