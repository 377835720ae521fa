import type { ProjectionContext } from './frame.js';
import { stableId } from './stable-id.js';

interface Origin {
  readonly node: string;
  readonly step: number;
}

/**
 * The object beside each message of mode `messages-tuple`: which run and node wrote it.
 *
 * The namespace of the `tools` node stays empty: clients take a namespace with a `tools:` segment for a subagent's
 * and keep its messages out of the conversation.
 */
export function messageMetadata(origin: Origin, { run, memory }: ProjectionContext): Readonly<Record<string, unknown>> {
  const { node, step } = origin;
  const namespace = node === 'tools' ? '' : `${node}:${stableId(`${run.runId}:${step}:${node}`)}`;
  return {
    tags: [],
    graph_id: run.graphId,
    assistant_id: run.assistantId,
    run_attempt: memory.attempt,
    thread_id: run.threadId,
    run_id: run.runId,
    langgraph_step: step,
    langgraph_node: node,
    langgraph_triggers: [`branch:to:${node}`],
    langgraph_path: ['__pregel_pull', node],
    langgraph_checkpoint_ns: namespace,
    checkpoint_ns: namespace,
    ls_provider: 'openai',
    ls_model_name: memory.model,
    ls_model_type: 'chat',
  };
}
