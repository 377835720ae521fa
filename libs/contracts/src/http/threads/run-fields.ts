import { z } from 'zod';
import { CheckpointId } from '../../common/ids.js';
import { NextNode } from '../../records/thread-state.js';
import { OpenContext, queryList, unsupported } from '../route.js';

/** Nodes where a run can stop. */
const NODES = NextNode.exclude(['after_model']).options;

/** `*` or names of nodes. A name that no node has would never stop the run, so it is refused. */
export const Breakpoints = z.union([z.literal('*'), z.array(z.enum(NODES)).max(NODES.length)], {
  error: `must be "*" or a list of nodes, which are ${NODES.join(' and ')}`,
});

/** The namespace of a checkpoint: there are no subgraphs. */
export const RootNamespace = z
  .string()
  .max(0, 'must be empty: there are no subgraphs, and subagents are read by GET /threads/{thread_id}/tasks');

/**
 * `config.configurable`: settings of the run, and in LangGraph's clients the checkpoint that it starts from.
 */
export const Configurable = OpenContext.superRefine((value, context) => {
  const refuse = (key: string, message: string): void => {
    context.addIssue({ code: 'custom', path: [key], message });
  };
  const { checkpoint_id: id, checkpoint_ns: namespace } = value;
  if (!CheckpointId.nullish().safeParse(id).success) refuse('checkpoint_id', 'must be the id of a checkpoint');
  if (!RootNamespace.nullish().safeParse(namespace).success) refuse('checkpoint_ns', 'must be empty');
});

/** The namespaces of a stream, as the SDK sends them in the query. Only the root has events. */
export const StreamNamespaces = queryList(z.string())
  .refine(
    (names) => names.length === 0 || names.every((name) => name === ''),
    'must be "", the root: there are no other namespaces, and what subagents do is shown by custom events of it',
  )
  .optional();

/** Fields that SDKs can send and that would have no effect here: each is refused with its reason and the alternative. */
export const refusedRunFields = {
  feedback_keys: unsupported(
    'no links for feedback are made; send it to PUT /threads/{thread_id}/runs/{run_id}/feedback',
  ),
  langsmith_tracer: unsupported(
    'traces are sent to the collector of OTEL_EXPORTER_OTLP_ENDPOINT, with the traceparent of the request',
  ),
};
