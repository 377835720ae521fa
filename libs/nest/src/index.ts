export { nestLogger } from './nest-logger.js';
export { parseRequest, RpcErrorFilter } from './rpc-handlers.js';
export { RpcServer, rpcServerOptions } from './rpc-server.js';
