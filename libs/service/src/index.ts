export { type HealthCheck, type Readiness, readinessOf, startHealthServer } from './health-server.js';
export { runMain, runUntilStopped, type StopStep } from './service-lifecycle.js';
export { ProcessReport } from './process-report.js';
