import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver, waitFor, waitForOutput } from '@caribou/testing';
import { runBody } from '../support/client.js';
import { nonce, nth, type Stack, startStack } from '../support/stack.js';

jest.setTimeout(90_000);

const TRACE = 'a'.repeat(32);
const CALLER = 'b'.repeat(16);
const SECRET = 'text of a user';
const SCRIPT = `${nonce()} ${SECRET}\n#tool bash ${JSON.stringify({ description: 'a test', command: 'echo quietly' })}\n#say Done, ${SECRET}.`;

let receiver: OtlpReceiver;
let stack: Stack;

beforeAll(async () => {
  receiver = await startOtlpReceiver();
  stack = await startStack({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url },
    // A title by the model takes time, so its hook has a span.
    config: 'title:\n  model_name: caribou-demo\n',
  });
});
afterAll(async () => {
  await stack.stop();
  await receiver.close();
});

const named = (name: string): ReceivedSpan[] => receiver.spans.filter((span) => span.name === name);

describe('traces', () => {
  test('one run is one trace: request, run, model and tool calls, each below its parent', async () => {
    const client = stack.client();
    const threadId = await client.newThread();
    const stream = await client.stream('POST', `/threads/${threadId}/runs/stream`, runBody(SCRIPT), {
      traceparent: `00-${TRACE}-${CALLER}-01`,
    });
    await stream.end();
    // The gateway and the runner send their spans separately.
    await waitFor(() => [named('run.admit'), named('invoke_agent lead_agent')].every(({ length }) => length === 1), {
      what: 'the request and the run to be traced',
    });

    const [request, run] = [nth(named('run.admit'), 0), nth(named('invoke_agent lead_agent'), 0)];
    const turns = named('model_request');
    const tool = nth(named('execute_tool bash'), 0);
    expect(new Set(receiver.spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE]));
    expect(request).toMatchObject({ service: 'caribou-gateway', kind: 2, parentSpanId: CALLER });
    expect(run).toMatchObject({ service: 'caribou-agent-runner', kind: 5, parentSpanId: request.spanId });
    expect(run.fields).toMatchObject({
      'gen_ai.conversation.id': threadId,
      'caribou.attempt': 1,
      'caribou.outcome': 'success',
      'caribou.run_id': request.fields['caribou.run_id'],
    });
    expect([...turns, tool].map(({ parentSpanId }) => parentSpanId)).toEqual([run.spanId, run.spanId, run.spanId]);
    const attempts = receiver.spans.filter(({ name }) => name.startsWith('chat '));
    expect(attempts.map(({ parentSpanId }) => parentSpanId)).toEqual(turns.map(({ spanId }) => spanId));
    expect(attempts[0]).toMatchObject({ name: 'chat caribou-demo', kind: 3 });
    expect(attempts[0]?.fields).toMatchObject({
      ...{ 'gen_ai.provider.name': '127.0.0.1', 'gen_ai.request.model': 'caribou-demo' },
      ...{ 'gen_ai.response.model': 'caribou-demo', 'caribou.model': 'caribou-demo' },
    });
    expect(attempts[0]?.fields).toHaveProperty(['gen_ai.usage.input_tokens']);
    expect(tool.fields).toMatchObject({ 'gen_ai.tool.name': 'bash', 'caribou.outcome': 'ok' });
    for (const span of receiver.spans.filter(({ service }) => service === 'caribou-agent-runner')) {
      expect(span.startMs).toBeGreaterThanOrEqual(run.startMs - 2);
      expect(span.endMs).toBeLessThanOrEqual(run.endMs + 2);
    }
  });

  test('a hook that took time is a span of the run', () => {
    const [run, title] = [nth(named('invoke_agent lead_agent'), 0), nth(named('title.afterModel'), 0)];

    expect(title.parentSpanId).toBe(run.spanId);
    expect(title.fields).toMatchObject({ 'caribou.middleware': 'title', 'caribou.hook': 'afterModel' });
  });

  test('no text of a user or the model is in a trace', () => {
    expect(receiver.text()).not.toContain(SECRET);
    expect(receiver.text()).not.toContain('echo quietly');
  });

  test('the chain of the run is one log line, with its trace', async () => {
    const output = await waitForOutput(nth(stack.runners, 0), /"event":"run\.end".*\n/);
    const lines = output
      .split('\n')
      .filter((line) => line.includes('"event":"run.end"'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);

    expect(lines).toEqual([
      expect.objectContaining({
        level: 'info',
        outcome: 'success',
        traceId: TRACE,
        durationMs: expect.any(Number) as unknown,
        hooksMs: expect.any(Number) as unknown,
        chain: expect.any(Array) as unknown,
      }),
    ]);
    expect(lines[0]).not.toHaveProperty('dropped');
  });

  test('buffered spans are sent when the services stop', async () => {
    const before = named('run.admit').length;
    const client = stack.client();
    const stream = await client.run(await client.newThread(), `${nonce()}\n#say Again.`);
    await stream.end();
    await Promise.all([nth(stack.gateways, 0), nth(stack.runners, 0)].map((service) => service.terminate(15_000)));

    expect(named('run.admit')).toHaveLength(before + 1);
    expect(named('invoke_agent lead_agent')).toHaveLength(before + 1);
  });
});
