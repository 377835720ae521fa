export { createLogger } from './logger.js';
export { LoopLag, type MeasuredLag } from './loop-lag.js';
export { createMetrics, type Metrics } from './metrics.js';
export { childOf, newTrace, parseTraceparent, toTraceparent } from './trace.js';
export type { TraceSpan, Tracing } from './trace-span.js';
export { createTracing, noopTracing } from './tracing.js';
export { redactText } from './redact.js';
export { describeMetrics, type MetricDescription } from './describe-metrics.js';
