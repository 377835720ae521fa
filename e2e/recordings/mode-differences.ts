import {
  ANSWERED,
  CANCELLED,
  EVERY,
  FAILED,
  WITH_TOOLS,
  has,
  lacks,
  type DifferenceGroup,
} from './difference-group.js';

const PEER_CONFIG = [
  'configurable.assistant_id',
  'configurable.graph_id',
  'configurable.ls_agent_type',
  'configurable.run_id',
  'configurable.user-agent',
  'metadata',
  'recursion_limit',
  'tags',
];

/** Modes checkpoints, debug and tasks. */
export const CHECKPOINT_DIFFERENCES: readonly DifferenceGroup[] = [
  {
    reason: "The input checkpoint holds the input: the peer's empty one, of before the input, is left out.",
    scripts: ANSWERED,
    differences: ['- frame checkpoints(loop)', '- frame debug(checkpoint)'],
  },
  { reason: 'The same.', scripts: EVERY, differences: ['+ human message'] },
  {
    reason:
      'A checkpoint that the peer does not make: the message of a failed model, or the title of a first run that is cancelled.',
    scripts: [...FAILED, ...CANCELLED],
    differences: ['+ frame values', '~ frame debug(checkpoint) at another place'],
  },
  {
    reason: 'History can be searched by run.',
    scripts: EVERY,
    differences: has('metadata of a checkpoint', 'run_id'),
  },
  {
    reason: 'A config names its checkpoint, with all keys of a checkpoint; the run is in the frame before it.',
    scripts: EVERY,
    differences: [
      ...lacks('debug(checkpoint).payload.config', ...PEER_CONFIG),
      ...has('debug(checkpoint).payload.config', 'configurable.checkpoint_map'),
    ],
  },
  {
    reason: 'The same.',
    scripts: EVERY,
    differences: [
      ...lacks('debug(checkpoint).payload.parent_config', ...PEER_CONFIG),
      ...has('debug(checkpoint).payload.parent_config', 'configurable.checkpoint_map'),
    ],
  },
  {
    reason: 'A tool task is shown the state; its call is in the last message there.',
    scripts: WITH_TOOLS,
    differences: lacks('input of a task', 'lg_tool_call'),
  },
];

/** Mode events. */
export const EVENT_DIFFERENCES: readonly DifferenceGroup[] = [
  {
    reason:
      "DeerFlow's older page asks for `events` in every run: they do not repeat the state before each node, nor the prompt.",
    scripts: EVERY,
    differences: [
      '- events(on_chain_start model_request).data.input',
      '- events(on_chat_model_start ChatOpenAI).data.input',
    ],
  },
  {
    reason: 'The same, at ends: an end joins its start by run_id.',
    scripts: ANSWERED,
    differences: [
      '- events(on_chain_end model_request).data.input',
      '- events(on_chat_model_end ChatOpenAI).data.input',
    ],
  },
  {
    reason: 'The same, for tools.',
    scripts: WITH_TOOLS,
    differences: [
      '- events(on_chain_start tools).data.input',
      '- events(on_chain_end tools).data.input',
      '- events(on_tool_end bash).data.input',
    ],
  },
  { reason: 'The same.', scripts: ['parallel-tools'], differences: ['- events(on_tool_end read_file).data.input'] },
  {
    reason: "What the model node gives is the update itself, not a list of commands to the peer's graph.",
    scripts: ANSWERED,
    differences: [
      '- events(on_chain_end model_request).data.output[]',
      '+ events(on_chain_end model_request).data.output',
    ],
  },
  {
    reason: 'The input is shown as it was stored, with its id.',
    scripts: EVERY,
    differences: has('human message', 'additional_kwargs', 'id', 'response_metadata'),
  },
  {
    reason: 'A tool event names its call, which names its node.',
    scripts: WITH_TOOLS,
    differences: lacks(
      'metadata of a tool event',
      'checkpoint_ns',
      'langgraph_checkpoint_ns',
      'langgraph_node',
      'langgraph_path',
      'langgraph_step',
      'langgraph_triggers',
    ),
  },
];

/** What a failing model leaves, in all modes. */
export const FAILURE_DIFFERENCES: readonly DifferenceGroup[] = [
  {
    reason:
      'A model that failed for good leaves a message that says so, as DeerFlow does: the node ends with it, it is streamed as one delta, and it is in the state; the run still ends with `error`.',
    scripts: FAILED,
    differences: [
      '+ ai message',
      '+ frame events(on_chain_end model_request)',
      '+ frame events(on_chat_model_end ChatOpenAI)',
      '+ frame events(on_chat_model_stream ChatOpenAI)',
      '+ frame messages(ai)',
      '+ frame messages/complete(ai)',
      '+ frame messages/metadata',
      '+ frame messages/partial(ai)',
      '+ frame updates(model_request)',
      '+ result of the model_request task.messages',
      '- error of the model_request task',
      '~ streamed: [{"type":"ai","usageChunks":0,"equalsWhole":null}]',
      '~ streamed: [{"type":"ai","usageChunks":0,"equalsWhole":true}]',
    ],
  },
];
