export {
  type HealthCheck,
  type Readiness,
  readinessOf,
  startHealthServer,
} from './health-server.js';
export { nestLogger } from './nest-logger.js';
export { parseRequest, RpcErrorFilter } from './rpc-handlers.js';
export { rpcServerOptions } from './rpc-server.js';
export { runUntilStopped, runMain, type StopStep } from './service-lifecycle.js';
