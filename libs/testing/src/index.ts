export { startNats, type NatsOptions } from './nats.js';
export { freePort } from './ports.js';
export { type Hold, type Match, startProxy, type TestProxy } from './proxy.js';
export type { Direction } from './proxy-flow.js';
export { type RedisOptions, startRedis } from './redis.js';
export type { TestServer } from './server-process.js';
export { type ServiceExit, type ServiceOptions, startService, type TestService } from './service.js';
export { waitFor, type WaitOptions } from './wait-for.js';
