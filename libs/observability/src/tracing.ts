import { childOf, newTrace, parseTraceparent, toTraceparent, type Trace } from './trace.js';
import type { TraceSpan, Tracing, TracingOptions } from './trace-span.js';

/** Creates the tracing of one service, which sends spans to an OpenTelemetry collector if one is configured. */
export async function createTracing(options: TracingOptions): Promise<Tracing> {
  const { endpoint } = options;
  if (endpoint === undefined) return noopTracing;
  const { createOtlpTracing } = await import('./otlp-tracing.js');
  return createOtlpTracing({ ...options, endpoint });
}

/** Records nothing; passes on an incoming trace or begins a new one. */
export const noopTracing: Tracing = {
  on: false,
  start: (_name, { parent }) => {
    const trace = parseTraceparent(parent ?? undefined);
    return noopSpan(trace === undefined ? newTrace() : childOf(trace));
  },
  close: () => Promise.resolve(),
};

function noopSpan(trace: Trace): TraceSpan {
  const span: TraceSpan = {
    traceparent: toTraceparent(trace),
    child: () => span,
    event: () => undefined,
    end: () => undefined,
  };
  return span;
}
