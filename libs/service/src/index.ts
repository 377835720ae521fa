export { useLeanAsyncBinding } from './async-binding.js';
export {
  type HealthCheck,
  type HealthServerOptions,
  READY,
  type Readiness,
  readinessOf,
  startHealthServer,
  STOPPING,
} from './health-server.js';
export { runMain, runUntilStopped, type StopStep } from './service-lifecycle.js';
export { ProcessReport } from './process-report.js';
