export { type AuditLine, type AuditLog, redisAuditLog } from './audit-log.js';
export { checkRedis, type RedisFinding } from './check-redis.js';
export { createRedis, type RedisConnection } from './connection.js';
export { redisEventLog } from './event-log.js';
export { redisExecutionJournal } from './execution-journal.js';
export { redisRunStore } from './run-store.js';
export { redisSandboxRegistry } from './sandbox-registry.js';
export type { StoreOptions } from './store-settings.js';
export { redisThreadStore } from './thread-store.js';
