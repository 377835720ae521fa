import { setTimeout as sleep } from 'node:timers/promises';
import { createMetrics } from './index.js';

describe('createMetrics', () => {
  test('runs with damaged records are counted from zero on, so that the first one is an increase', async () => {
    const metrics = createMetrics({ service: 'runner' });
    expect(await metrics.text()).toContain('caribou_runs_total{outcome="unreadable",service="runner"} 0');
    metrics.runEnded('unreadable');
    expect(await metrics.text()).toContain('caribou_runs_total{outcome="unreadable",service="runner"} 1');
  });

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

  test('reads figures when it is asked for them, and the lag of the event loop from the second time on', async () => {
    const metrics = createMetrics({ service: 'gateway' });
    let open = 2;
    metrics.measure('open_streams', () => open);
    metrics.measure('pending_threads', () => Promise.resolve(NaN));
    const first = await metrics.text();
    expect(first).toContain('caribou_open_streams{service="gateway"} 2');
    expect(first).toContain('caribou_pending_threads{service="gateway"} Nan');
    expect(first).not.toContain('caribou_event_loop_lag_seconds{');
    open = 0;
    const lagOf = async (): Promise<number> =>
      Number(/caribou_event_loop_lag_seconds\{quantile="1",service="gateway"\} (\S+)/.exec(await metrics.text())?.[1]);
    await waitUntilLate(async () => (await lagOf()) >= 0.2);
    expect(await metrics.text()).toContain('caribou_open_streams{service="gateway"} 0');
  });

  test('shows length and oldest wait of queues, in seconds, and NaN for a queue that cannot be read', async () => {
    const metrics = createMetrics({ service: 'gateway' });
    let reads = 0;
    metrics.measureQueue('runs', () => {
      reads += 1;
      return { length: 3, oldestWaitMs: 1_500 };
    });
    metrics.measureQueue('memory', () => Promise.reject(new Error('Redis is away')));
    const [text] = await Promise.all([metrics.text(), metrics.text()]);
    expect(text).toContain('caribou_queue_length{kind="runs",service="gateway"} 3');
    expect(text).toContain('caribou_queue_oldest_wait_seconds{kind="runs",service="gateway"} 1.5');
    expect(text).toContain('caribou_queue_length{kind="memory",service="gateway"} Nan');
    expect(reads).toBe(1);
  });

  test('shows slots and caches with their limits, as they are when asked', async () => {
    const metrics = createMetrics({ service: 'sandbox-manager' });
    let used = 1;
    metrics.measureSlots('sandboxes', { used: () => used, limit: 64 });
    metrics.measureCache('finished_executions', { used: () => 2_000, limit: 4_096 });
    used = 3;
    const text = await metrics.text();
    expect(text).toContain('caribou_slots_used{kind="sandboxes",service="sandbox-manager"} 3');
    expect(text).toContain('caribou_slots_limit{kind="sandboxes",service="sandbox-manager"} 64');
    expect(text).toContain('caribou_cache_bytes{cache="finished_executions",service="sandbox-manager"} 2000');
    expect(text).toContain('caribou_cache_limit_bytes{cache="finished_executions",service="sandbox-manager"} 4096');
    expect(text).toMatch(/nodejs_heap_size_used_bytes\{service="sandbox-manager"\} [1-9]/);
  });

  test('counts refusals by reason and scripts by name', async () => {
    const metrics = createMetrics({ service: 'gateway' });
    metrics.requestRefused('rate_limited');
    metrics.scriptEnded('runs/admit', 3);
    metrics.runStarted(1_500);
    const text = await metrics.text();
    expect(text).toContain('caribou_refused_requests_total{reason="rate_limited",service="gateway"} 1');
    expect(text).toContain('caribou_redis_script_duration_seconds_sum{service="gateway",script="runs/admit"} 0.003');
    expect(text).toContain('caribou_run_wait_duration_seconds_sum{service="gateway"} 1.5');
  });
});

/** Holds the event loop up again and again until the measurement has seen it. */
async function waitUntilLate(hasSeen: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 20; attempt += 1) {
    await sleep(60);
    const until = performance.now() + 300;
    while (performance.now() < until);
    await sleep(60);
    if (await hasSeen()) return;
  }
  throw new Error('the lag was never seen');
}
