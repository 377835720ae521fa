import type { TraceEntry } from '../../api/trace.js';
import { filterRows, spanOf, timelineRows } from './timeline-rows.js';
import { summarizeTrace } from './trace-summary.js';
import { isUnderWay } from './use-trace.js';

const at = (ms: number): string => new Date(Date.UTC(2026, 0, 2) + ms).toISOString();
const RUNNER = 'agent-runner@one (pid 7)';
const OTHER = 'agent-runner@two (pid 9)';

const call = {
  type: 'model_call',
  caller: 'lead_agent',
  step: 1,
  attempt: 1,
  because: 'first',
  model: 'small',
  provider_model: null,
  provider: null,
  outcome: 'ok',
  first_token_ms: 10,
  cached_input_tokens: 0,
  reasoning_tokens: 0,
  finish_reason: 'stop',
  message_id: 'm',
  error: null,
} as const;

const entries: readonly TraceEntry[] = [
  { seq: 1, at: at(0), type: 'admitted', process: null, api_key: null, strategy: 'reject', request: 'input' },
  { seq: 2, at: at(40), type: 'claimed', process: RUNNER, attempt: 1, queued_ms: 40 },
  { ...call, seq: 3, at: at(100), call: 1, duration_ms: 500, input_tokens: 1_200, output_tokens: 30 },
  { seq: 4, at: at(50), type: 'hooks', step: 1, duration_ms: 3, parts: [] },
  { seq: 5, at: at(620), type: 'commit', step: 1, checkpoint_id: 'c1', next: ['tools'], duration_ms: 2, bytes: 100 },
  {
    seq: 6,
    at: at(5_000),
    type: 'taken_over',
    process: OTHER,
    attempt: 2,
    from: RUNNER,
    reason: 'process_died',
    lost_step: true,
  },
  {
    seq: 7,
    at: at(5_100),
    type: 'tool_call',
    step: 2,
    name: 'bash',
    tool_call_id: 't',
    duration_ms: 900,
    outcome: 'unknown',
    error: null,
  },
  { seq: 8, at: at(6_100), type: 'ended', status: 'success', reason: null, error: null, process: OTHER },
];

describe('the lines of a trace', () => {
  const rows = timelineRows(entries);

  test('are by time: what a commit stores of its step began before it', () => {
    expect(rows.map(({ entry }) => entry.seq)).toEqual([1, 2, 4, 3, 5, 6, 7, 8]);
    expect(rows.map(({ offsetMs }) => offsetMs)).toEqual([0, 40, 50, 100, 620, 5_000, 5_100, 6_100]);
  });

  test('name the process, its takeover and the reason', () => {
    expect(rows.find(({ entry }) => entry.seq === 2)?.detail).toBe(`by ${RUNNER} after 40 ms in the queue`);
    expect(rows.find(({ entry }) => entry.seq === 6)).toMatchObject({
      detail: `by ${OTHER} from ${RUNNER}: that process had died`,
      tone: 'warn',
      attempt: 2,
    });
  });

  test('belong to the claim before them', () => {
    expect(rows.map(({ attempt }) => attempt)).toEqual([0, 1, 1, 1, 1, 2, 2, 2]);
  });

  test('say what a call used, and an outcome that is not known as a warning', () => {
    expect(rows.find(({ entry }) => entry.seq === 3)).toMatchObject({ title: 'Model small', tone: 'good' });
    expect(rows.find(({ entry }) => entry.seq === 3)?.detail).toContain('30 out');
    expect(rows.find(({ entry }) => entry.seq === 7)).toMatchObject({
      title: 'Tool bash',
      detail: 'unknown',
      tone: 'warn',
    });
  });

  test('are filtered, and span the run', () => {
    expect(filterRows(rows, 'tools').map(({ entry }) => entry.seq)).toEqual([7]);
    expect(filterRows(rows, 'processes').map(({ entry }) => entry.seq)).toEqual([1, 2, 6, 8]);
    expect(filterRows(rows, 'all')).toBe(rows);
    expect(spanOf(rows)).toBe(6_100);
    expect(spanOf([])).toBe(0);
  });
});

describe('the figures of a trace', () => {
  test('sum up what the run took and did', () => {
    expect(summarizeTrace(entries)).toEqual({
      totalMs: 6_100,
      queuedMs: 40,
      modelMs: 500,
      toolMs: 900,
      hookMs: 3,
      modelCalls: 1,
      toolCalls: 1,
      takeovers: 1,
      processes: [RUNNER, OTHER],
    });
  });

  test('have no total before the end', () => {
    expect(summarizeTrace(entries.slice(0, 3)).totalMs).toBeNull();
    expect(summarizeTrace([])).toMatchObject({ totalMs: null, queuedMs: null, processes: [] });
  });
});

describe('whether entries may follow', () => {
  const run = { status: 'running' } as Parameters<typeof isUnderWay>[0]['run'];

  test('is so until the end is stored', () => {
    expect(isUnderWay({ run, entries: entries.slice(0, 3) })).toBe(true);
    expect(isUnderWay({ run, entries })).toBe(false);
  });
});
