export {
  type HealthCheck,
  type HealthServer,
  type HealthServerOptions,
  missingOf,
  startHealthServer,
} from './health-server.js';
export { nestLogger } from './nest-logger.js';
export { parseRequest, RpcErrorFilter } from './rpc-handlers.js';
export { rpcServerOptions, type RpcServerOptions } from './rpc-server.js';
export { liveUntilStopped, runMain, type ServiceLife, type StopStep } from './service-life.js';
