export { nestLogger } from './nest-logger.js';
export { parseRequest, RpcErrorFilter } from './rpc-handlers.js';
export { rpcServerOptions } from './rpc-server.js';
