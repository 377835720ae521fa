import { childOf, newTrace, parseTraceparent, toTraceparent, type Trace } from './trace.js';
import type { TraceSpan, Tracing, TracingOptions } from './trace-span.js';

/** Traces of one service, sent to an OpenTelemetry collector where there is one. */
export async function createTracing(options: TracingOptions): Promise<Tracing> {
  const { endpoint } = options;
  if (endpoint === undefined) return noopTracing;
  const { exportedTracing } = await import('./exported-tracing.js');
  return exportedTracing({ ...options, endpoint });
}

/** Records nothing; a trace that came in goes on, and one that did not begins. */
export const noopTracing: Tracing = {
  on: false,
  start: (_name, { parent }) => {
    const trace = parseTraceparent(parent ?? undefined);
    return silentSpan(trace === undefined ? newTrace() : childOf(trace));
  },
  close: () => Promise.resolve(),
};

function silentSpan(trace: Trace): TraceSpan {
  const span: TraceSpan = {
    traceparent: toTraceparent(trace),
    child: () => span,
    event: () => undefined,
    end: () => undefined,
  };
  return span;
}
