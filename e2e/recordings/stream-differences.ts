import {
  ANSWERED,
  DEPLOYMENT,
  ENDED,
  EVERY,
  FAILED,
  MESSAGE_DIFFERENCES,
  STREAMED,
  WITH_TOOLS,
  has,
  lacks,
  type DifferenceGroup,
} from './difference-group.js';
import { CHECKPOINT_DIFFERENCES, EVENT_DIFFERENCES, FAILURE_DIFFERENCES } from './mode-differences.js';

const DELTA_DIFFERENCES: readonly DifferenceGroup[] = [
  {
    reason: 'As in whole messages: the names are those of the provider.',
    scripts: ANSWERED,
    differences: ['ai message so far', 'ai delta'].flatMap((thing) =>
      has(`${thing}.response_metadata`, 'finish_reason', 'model_name', 'system_fingerprint'),
    ),
  },
  {
    reason: 'The same, seen from the other side.',
    scripts: STREAMED,
    differences: ['ai message so far', 'ai delta'].flatMap((thing) =>
      lacks(`${thing}.response_metadata`, 'model_provider', 'usage'),
    ),
  },
  {
    reason: 'As in whole messages: tool calls stand once.',
    scripts: WITH_TOOLS,
    differences: ['ai delta', 'ai message so far'].flatMap((thing) =>
      lacks(`${thing}.additional_kwargs`, 'tool_calls'),
    ),
  },
  {
    reason: 'Clients compute tool_calls and invalid_tool_calls of a delta from tool_call_chunks, as the contract says.',
    scripts: WITH_TOOLS,
    differences: ['- ai delta.invalid_tool_calls[]', '- ai delta.tool_calls[]'],
  },
  {
    reason: 'tool_call_chunks belong to deltas; the contract wants final messages without them.',
    scripts: ANSWERED,
    differences: lacks('ai message', 'tool_call_chunks'),
  },
];

/** Ways in which the event streams differ. */
export const STREAM_DIFFERENCES: readonly DifferenceGroup[] = [
  {
    reason: 'The contract wants `end` last, so that a client can tell the end from a broken connection.',
    scripts: EVERY,
    differences: ['+ frame end'],
  },
  {
    reason: 'DeerFlow sends the thread id, the peer the attempt: the contract wants all three.',
    scripts: EVERY,
    differences: ['+ metadata.thread_id'],
  },
  {
    reason: "JS clients read `error`, Python ones and DeerFlow's page `name`.",
    scripts: FAILED,
    differences: ['+ error.name'],
  },
  ...MESSAGE_DIFFERENCES,
  ...DELTA_DIFFERENCES,
  {
    reason: "Facts about the peer's deployment and libraries.",
    scripts: EVERY,
    differences: [
      ...lacks('metadata of a task', ...DEPLOYMENT),
      ...lacks('metadata of an event', ...DEPLOYMENT, 'versions'),
    ],
  },
  { reason: 'The same.', scripts: STREAMED, differences: lacks('metadata of an ai delta', ...DEPLOYMENT, 'versions') },
  {
    reason: 'The same; and `name` repeats langgraph_node.',
    scripts: WITH_TOOLS,
    differences: [
      ...lacks('metadata of a tool message', ...DEPLOYMENT, 'name'),
      ...lacks('metadata of a tool event', ...DEPLOYMENT, 'versions'),
    ],
  },
  {
    reason: 'Our agent has more channels: the folders of the thread, its title, and the sandbox once there is one.',
    scripts: ENDED,
    differences: has('state', 'thread_data'),
  },
  {
    reason: 'The same; a first run that is cancelled leaves a title too.',
    scripts: EVERY,
    differences: has('state', 'title'),
  },
  {
    reason: 'The same, in what the graph ends with.',
    scripts: ANSWERED,
    differences: has('events(on_chain_end LangGraph).data.output', 'thread_data', 'title'),
  },
  {
    reason: 'The same, after a tool was used.',
    scripts: WITH_TOOLS,
    differences: [
      '+ events(on_chain_end LangGraph).data.output.sandbox',
      '+ events(on_chain_end tools).data.output.sandbox',
      '+ result of the tools task.sandbox',
      '+ state.sandbox',
      '+ update of tools.sandbox',
      ...has('input of a task', 'sandbox', 'thread_data', 'title'),
    ],
  },
  {
    reason:
      'The agent has middlewares that write state. What a hook wrote is published with the commit of its step, so the first ones follow the deltas.',
    scripts: ENDED,
    differences: ['thread-data.before_agent', 'title.after_model'].flatMap((hook) => [
      `+ frame updates(${hook})`,
      ...['start', 'end'].map((point) => `+ frame tasks(${point} ${hook})`),
      ...['on_chain_start', 'on_chain_end'].map((event) => `+ frame events(${event} ${hook})`),
      ...['task', 'task_result'].map((type) => `+ frame debug(${type} ${hook})`),
    ]),
  },
  {
    reason: "A route of the peer's graph; ours decides in code.",
    scripts: ANSWERED,
    differences: ['- frame events(on_chain_start RunnableLambda)', '- frame events(on_chain_end RunnableLambda)'],
  },
  {
    reason: "Written by the peer's made-up tool. Our bash writes nothing of its own into `custom`.",
    scripts: WITH_TOOLS,
    differences: ['- frame custom(tool_log)'],
  },
  {
    reason: 'Each message has a separate frame; the peer puts those of parallel calls into one.',
    scripts: ['parallel-tools'],
    differences: ['+ frame messages/complete(tool)'],
  },
  {
    reason: 'The id is that of the tool message in the state, so that clients can join them.',
    scripts: WITH_TOOLS,
    differences: has('tool message', 'id'),
  },
  ...CHECKPOINT_DIFFERENCES,
  ...EVENT_DIFFERENCES,
  ...FAILURE_DIFFERENCES,
];
