import { newId } from '@caribou/contracts';
import { traceHook } from '@caribou/core';
import { createLogger, createTracing, noopTracing } from '@caribou/observability';
import { fakeRun, sampleRun, startOtlpReceiver } from '@caribou/testing';
import { recordRun } from './run-recording.js';

const run = sampleRun({
  run_id: newId(),
  thread_id: newId(),
  status: 'running',
  attempt: 2,
  input_committed: true,
  traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
});

/** A clock that moves on by 1.5 ms whenever it is asked. */
const clock = () => {
  let ms = 0;
  return { now: () => 1_700_000_000_000, monotonicMs: () => (ms += 1.5), sleep: () => Promise.resolve() };
};

function recording() {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const logger = createLogger({ service: 'agent-runner', level: 'info', destination });
  return { logger, lines: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

describe(recordRun, () => {
  test('the end of a run says what its chain did', async () => {
    const { recorder, end } = recordRun({ clock: clock(), tracing: noopTracing }, run);
    recorder.recordDecision('loop-detection', 'warned');
    await traceHook(fakeRun({ recorder }), { middleware: 'title', hook: 'afterModel' }, () => Promise.resolve());

    expect(end('success')).toEqual({
      hooksMs: 1.5,
      chain: [
        { middleware: 'title', ms: 1.5, calls: 1, decisions: [] },
        { middleware: 'loop-detection', ms: 0, calls: 0, decisions: ['warned'] },
      ],
    });
  });

  test('in a trace the run belongs to the request that admitted it, and says which attempt it is', async () => {
    const { logger } = recording();
    const receiver = await startOtlpReceiver();
    const tracing = await createTracing({ service: 'agent-runner', endpoint: receiver.url, logger });
    recordRun({ clock: clock(), tracing }, run).end('lost', new TypeError('no'));
    await tracing.close(5_000);
    await receiver.close();

    expect(receiver.spans).toMatchObject([
      {
        name: 'invoke_agent lead_agent',
        traceId: 'a'.repeat(32),
        parentSpanId: 'b'.repeat(16),
        failed: true,
        fields: { 'caribou.attempt': 2, 'caribou.outcome': 'lost', 'error.type': 'TypeError' },
      },
    ]);
  });
});
