export { type LogField, logFields } from './fields.js';
export { createLogger, type LoggerOptions, type ServiceLogger } from './logger.js';
export { createMetrics, type Metrics, type Outcome } from './metrics.js';
export { childOf, newTrace, parseTraceparent, toTraceparent, type Trace } from './trace.js';
