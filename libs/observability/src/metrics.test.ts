import { createMetrics } from './index.js';

describe('createMetrics', () => {
  test('counts under the documented names with the service as label', async () => {
    const metrics = createMetrics({ service: 'agent-runner' });
    metrics.runEnded('success');
    metrics.turnEnded(120);
    metrics.modelTokens('input', 7);
    metrics.toolCallEnded('bash', 'error');
    metrics.redisCommit(0.4);
    metrics.fenced();
    const text = await metrics.text();
    expect(text).toContain('caribou_runs_total{outcome="success",service="agent-runner"} 1');
    expect(text).toContain('caribou_model_turn_duration_seconds_count{service="agent-runner"} 1');
    expect(text).toContain('caribou_model_turn_duration_seconds_sum{service="agent-runner"} 0.12');
    expect(text).toContain('caribou_model_tokens_total{kind="input",service="agent-runner"} 7');
    expect(text).toContain('caribou_tool_calls_total{tool="bash",outcome="error",service="agent-runner"} 1');
    expect(text).toContain('caribou_fenced_writes_total{service="agent-runner"} 1');
    expect(text).toMatch(/process_cpu_seconds_total\{service="agent-runner"\} \d/);
  });

  test('counts tool names that a model invents under one label after the first two hundred', async () => {
    const metrics = createMetrics({ service: 'agent-runner' });
    for (let call = 0; call < 1_000; call += 1) metrics.toolCallEnded(`tool-${call}`, 'error');
    const text = await metrics.text();
    expect(text.match(/^caribou_tool_calls_total\{/gm)).toHaveLength(201);
    expect(text).toContain('caribou_tool_calls_total{tool="other",outcome="error",service="agent-runner"} 800');
  });

  test('two services in one process keep their own figures', async () => {
    const [one, two] = [createMetrics({ service: 'a' }), createMetrics({ service: 'b' })];
    one.fenced();
    expect(await two.text()).toContain('caribou_fenced_writes_total{service="b"} 0');
  });
});
