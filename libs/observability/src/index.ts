export { createLogger, type ServiceLogger } from './logger.js';
export { createMetrics, type Metrics, type Outcome } from './metrics.js';
export { childOf, newTrace, parseTraceparent, toTraceparent, type Trace } from './trace.js';
