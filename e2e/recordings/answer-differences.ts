import {
  ANSWERED,
  CANCELLED,
  DEPLOYMENT,
  type DifferenceGroup,
  ENDED,
  EVERY,
  FAILED,
  has,
  lacks,
  MESSAGE_DIFFERENCES,
  WITH_TOOLS,
} from './difference-group.js';

const RUN_TOTALS = [
  'error',
  'lead_agent_tokens',
  'llm_call_count',
  'middleware_tokens',
  'stop_reason',
  'subagent_tokens',
  'total_input_tokens',
  'total_output_tokens',
  'total_tokens',
];

/** Ways in which thread, state, history, runs and join differ once a run is over. */
export const ANSWER_DIFFERENCES: readonly DifferenceGroup[] = [
  ...MESSAGE_DIFFERENCES,
  {
    reason: "A run tells what it cost and how it ended, as DeerFlow's runs do.",
    scripts: EVERY,
    differences: has('run', ...RUN_TOTALS),
  },
  {
    reason: "A run's metadata are what its client gave it; graph and assistant stand in kwargs.config.configurable.",
    scripts: EVERY,
    differences: lacks('run.metadata', 'assistant_id', 'created_by', 'graph_id'),
  },
  {
    reason: "Facts about the peer's deployment, and about the run, which metadata.run_id names.",
    scripts: EVERY,
    differences: lacks(
      'metadata of a state',
      ...DEPLOYMENT,
      'assistant_id',
      'graph_id',
      'ls_agent_type',
      'run_attempt',
      'thread_id',
      'user-agent',
    ),
  },
  {
    reason:
      "The peer writes its graph and the last run's configuration into the thread. Ours writes the graph only into threads that a run makes: metadata are the client's.",
    scripts: EVERY,
    differences: [...lacks('thread.metadata', 'assistant_id', 'graph_id'), '- thread.config.configurable'],
  },
  {
    reason: 'What a finished task gave is in the state that follows it, not repeated in the history.',
    scripts: EVERY,
    differences: ['- state in the history.tasks[].result'],
  },
  {
    reason: 'Our agent has more channels: the folders of the thread and its title.',
    scripts: ENDED,
    differences: has('state', 'thread_data'),
  },
  {
    reason: 'The same; a first run that is cancelled leaves a title too.',
    scripts: EVERY,
    differences: has('state', 'title'),
  },
  { reason: 'The same.', scripts: ANSWERED, differences: has('join', 'thread_data', 'title') },
  {
    reason: 'The same, after a tool was used.',
    scripts: WITH_TOOLS,
    differences: ['+ state.sandbox', '+ join.sandbox'],
  },
  {
    reason: 'What was committed before a cancel, the input, is in the thread, and join answers with it.',
    scripts: CANCELLED,
    differences: ['+ state', '+ join', '+ thread.interrupts'],
  },
  {
    reason: 'A model that failed for good leaves a message in the state, and its node is over: no task is left behind.',
    scripts: FAILED,
    differences: ['+ ai message', '- state.tasks[]', '- thread.interrupts.<id>'],
  },
  {
    reason: "join says that the run failed, in the words wait has for it; the SDK makes an exception of wait's.",
    scripts: FAILED,
    differences: ['+ join.__error__', '- join.messages'],
  },
];

/** Wrong requests that get another status than the peer's. */
export const REFUSAL_DIFFERENCES: readonly {
  readonly request: string;
  readonly peer: number;
  readonly ours: number;
  readonly reason: string;
}[] = [
  { request: 'unknown-thread-run', peer: 422, ours: 404, reason: 'The thread is unknown; the peer calls it busy.' },
  { request: 'unknown-run-join', peer: 200, ours: 404, reason: 'Every unknown run is a 404.' },
  {
    request: 'unknown-run-stream',
    peer: 200,
    ours: 404,
    reason: 'Every unknown run is a 404; the contract says so for this route.',
  },
  {
    request: 'unknown-stream-mode',
    peer: 400,
    ours: 422,
    reason: 'Bodies that break the contract are 422, as with the Python server.',
  },
  { request: 'bad-multitask', peer: 400, ours: 422, reason: 'The same.' },
  { request: 'malformed-json', peer: 400, ours: 422, reason: 'The same.' },
  { request: 'state-before-first-run', peer: 400, ours: 200, reason: 'A thread can be named before its first run.' },
  {
    request: 'second-run-rejected',
    peer: 422,
    ours: 409,
    reason: 'A conflict; documented so, and DeerFlow answers so.',
  },
];
