import { countBytes, countEvent } from './run-metrics.js';

describe('countEvent', () => {
  test('counts ends of tool calls, retries and fallbacks of model calls, and nothing else', () => {
    const counted: string[] = [];
    const metrics = {
      toolCallEnded: (tool: string, outcome: string) => void counted.push(`${tool} ${outcome}`),
      modelRetried: (reason: string) => void counted.push(`retry ${reason}`),
      modelFellBack: (reason: string) => void counted.push(`fallback ${reason}`),
    };

    countEvent(metrics, { kind: 'tool.error', tool_call_id: '1', name: 'bash', error: 'no' });
    countEvent(metrics, { kind: 'custom', data: { type: 'llm_retry', attempt: 1, reason: 'busy' } });
    countEvent(metrics, { kind: 'custom', data: { type: 'llm_fallback', model: 'a', reason: 'too_long' } });
    countEvent(metrics, { kind: 'custom', data: { type: 'task_started', task_id: '1' } });
    countEvent(metrics, { kind: 'custom', data: { type: 'llm_retry' } });
    countEvent(metrics, { kind: 'custom', data: null });

    expect(counted).toEqual(['bash error', 'retry busy', 'fallback too_long']);
  });
});

describe('countBytes', () => {
  test('counts a run whose log has its end, and not one that another process continues', () => {
    const counted: unknown[] = [];
    const metrics = { runWrote: (bytes: object) => void counted.push(bytes) };

    countBytes(metrics, { state: 900, log: 700 });
    countBytes(metrics, { state: 900, log: undefined });

    expect(counted).toEqual([{ stateBytes: 900, logBytes: 700 }]);
  });
});
