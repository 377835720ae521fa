import { sampleRun } from '@caribou/testing';
import { runOf, summaryOf } from './run-codec.js';

/** What `runs/admit.lua` and its successors write. */
const stored: Readonly<Record<string, string>> = {
  run_id: 'r1',
  thread_id: 't1',
  user_id: 'u',
  assistant_id: 'lead_agent',
  status: 'pending',
  metadata: '{}',
  multitask_strategy: 'reject',
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
  attempt: '0',
  tries: '0',
  input_tokens: '0',
  output_tokens: '0',
  calls: '0',
  stop_reason: '',
  error: '',
  base_checkpoint_id: '',
  fork_checkpoint_id: '',
  input_committed: '',
  cancel: '',
  open: '',
  dropped: '',
  traceparent: '',
  admitted_head: 'c0',
  ordinal: '1',
  seq: '0',
  bytes: '0',
};
const { kwargs, kwargs_expired: _expired, ...summary } = sampleRun();
const flat = (over: Readonly<Record<string, string>> = {}): string[] => Object.entries({ ...stored, ...over }).flat();

describe(summaryOf, () => {
  test('the hash of a run that was just admitted', () => {
    expect(summaryOf(flat())).toEqual(summary);
  });

  test('fields that are absent, as those without a value and those that nobody reads after the end', () => {
    const written = flat().filter((_, index, all) => all[index % 2 === 0 ? index + 1 : index] !== '');

    expect(written).not.toContain('error');
    expect(summaryOf(written)).toEqual(summary);
    const fields = ['attempt', 'input_tokens', 'output_tokens', 'calls', 'seq', 'base_checkpoint_id'];
    expect(summaryOf(written.filter((_, index, all) => !fields.includes(all[index - (index % 2)] ?? '')))).toEqual(
      summary,
    );
  });

  test('the hash of a run that is over', () => {
    const over = {
      status: 'error',
      attempt: '3',
      metadata: '{"a":[1]}',
      input_committed: '1',
      cancel: 'rollback',
      input_tokens: '30',
      output_tokens: '12',
      calls: '4',
      lead_agent_tokens: '40',
      subagent_tokens: '2',
      middleware_tokens: '1',
      stop_reason: 'loop',
      error: '{"name":"E","message":"m"}',
      dropped: '"m1","m2"',
      base_checkpoint_id: 'c1',
      fork_checkpoint_id: 'c2',
      traceparent: '00-1',
      started: '1767225600000',
      seq: '9',
    };

    expect(summaryOf(flat(over))).toEqual({
      ...summary,
      status: 'error',
      attempt: 3,
      metadata: { a: [1] },
      input_committed: true,
      cancel: 'rollback',
      total_input_tokens: 30,
      total_output_tokens: 12,
      total_tokens: 42,
      llm_call_count: 4,
      lead_agent_tokens: 40,
      subagent_tokens: 2,
      middleware_tokens: 1,
      stop_reason: 'loop',
      error: { name: 'E', message: 'm' },
      dropped_message_ids: ['m1', 'm2'],
      traceparent: '00-1',
      base_checkpoint_id: 'c1',
      fork_checkpoint_id: 'c2',
      started_at: '2026-01-01T00:00:00.000Z',
      last_seq: 9,
    });
  });

  test.each([{ status: 'odd' }, { cancel: 'odd' }, { metadata: '{' }, { dropped: '"' }])('%j is refused', (over) => {
    expect(() => summaryOf(flat(over))).toThrow();
  });
});

describe(runOf, () => {
  test('the kwargs lie beside the record, or in the record of an earlier version', () => {
    const text = JSON.stringify(kwargs);

    expect(runOf(flat(), text)).toEqual(sampleRun());
    expect(runOf(flat({ kwargs: text }), null)).toEqual(sampleRun());
  });

  test('kwargs may be absent only when the run is over', () => {
    const { kwargs: asked, ...run } = runOf(flat({ status: 'success' }), null);

    expect(run).toMatchObject({ ...summary, status: 'success', kwargs_expired: true });
    expect(asked.input).toBeNull();
    expect(() => runOf(flat(), null)).toThrow();
  });
});
