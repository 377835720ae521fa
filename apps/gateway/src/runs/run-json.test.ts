import { sampleRun } from '@caribou/testing';
import { runJson, summaryJson } from './run-json.js';
import { stableId } from './streams/projections/stable-id.js';

const run = sampleRun({ status: 'success', metadata: { a: 1 }, attempt: 2, total_tokens: 7, traceparent: '00-1' });
const assistantId = stableId('lead_agent');
const shown = {
  run_id: 'r1',
  thread_id: 't1',
  assistant_id: assistantId,
  status: 'success',
  metadata: { a: 1 },
  kwargs: {
    config: { configurable: { run_id: 'r1', thread_id: 't1', graph_id: 'lead_agent', assistant_id: assistantId } },
  },
  multitask_strategy: 'reject',
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
  total_input_tokens: 0,
  total_output_tokens: 0,
  total_tokens: 7,
  llm_call_count: 0,
  lead_agent_tokens: 0,
  subagent_tokens: 0,
  middleware_tokens: 0,
  stop_reason: null,
  error: null,
};

describe(summaryJson, () => {
  test('shows the public fields in their order, and of the kwargs only ids', () => {
    expect(JSON.stringify(summaryJson(run))).toBe(JSON.stringify(shown));
  });
});

describe(runJson, () => {
  test('shows of kwargs that have expired only ids, as lists do', () => {
    expect(runJson({ ...run, kwargs_expired: true })).toEqual(shown);
  });

  test('shows what the run was asked to do', () => {
    expect(runJson(run)).toEqual({
      ...shown,
      kwargs: {
        input: null,
        context: {},
        stream_mode: ['values'],
        on_disconnect: 'continue',
        temporary: false,
        subgraphs: false,
        resumable: true,
        interrupt_before: undefined,
        interrupt_after: undefined,
        config: { recursion_limit: 100, ...shown.kwargs.config },
      },
    });
  });
});
