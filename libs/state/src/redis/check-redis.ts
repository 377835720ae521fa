import { AppError, UnavailableError } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import type { RedisConnection } from './connection.js';

export interface RedisFinding {
  /** An error means: do not start on this server. */
  readonly level: 'error' | 'warning';
  readonly message: string;
}

/**
 * Finds settings of a Redis server that are wrong for a store of record. It reads only INFO, which a user without
 * administrator's rights may be given.
 *
 * @throws {UnavailableError} when Redis does not answer in time
 */
export async function checkRedis(redis: RedisConnection): Promise<readonly RedisFinding[]> {
  try {
    const [memory, persistence] = await redis.use(async (client) => [
      await client.info('memory'),
      await client.info('persistence'),
    ]);
    return [
      ...policyFindings(fieldOf(memory, 'maxmemory_policy')),
      ...appendOnlyFindings(fieldOf(persistence, 'aof_enabled')),
      ...memoryFindings(fieldOf(memory, 'maxmemory')),
    ];
  } catch (error) {
    if (error instanceof UnavailableError || !(error instanceof AppError)) throw error;
    return [
      {
        level: 'warning',
        message:
          'Redis forbids INFO: make sure that maxmemory is set, maxmemory-policy is noeviction and appendonly is yes',
      },
    ];
  }
}

/**
 * Checks at the start of a service that Redis can be trusted with state, and logs warnings. An unavailable Redis does not
 * prevent the start: the service connects later, and `/ready` reports it until then.
 *
 * @throws {UnavailableError} when Redis answers but must not be used, with what to change
 */
export async function requireDurableRedis(redis: RedisConnection, logger: Logger): Promise<void> {
  const findings = await checkRedis(redis).catch((error: unknown): readonly RedisFinding[] => {
    if (!(error instanceof UnavailableError)) throw error;
    return [{ level: 'warning', message: error.message }];
  });
  for (const { level, message } of findings) {
    if (level === 'error') throw new UnavailableError(message, { details: { dependency: 'redis' } });
    logger.warn({ event: 'redis.settings', reason: message }, message);
  }
}

/** A field of an INFO reply, whose lines are `name:value`. */
const fieldOf = (info: string, name: string): string | undefined =>
  info
    .split(/\r?\n/)
    .find((line) => line.startsWith(`${name}:`))
    ?.slice(name.length + 1);

const policyFindings = (policy: string | undefined): RedisFinding[] =>
  policy === 'noeviction'
    ? []
    : [
        {
          level: 'error',
          message: `Redis has maxmemory-policy ${policy ?? ''}: it would evict threads; set noeviction`,
        },
      ];

const appendOnlyFindings = (enabled: string | undefined): RedisFinding[] =>
  enabled === '1'
    ? []
    : [
        {
          level: 'warning',
          message: 'Redis runs without AOF (appendonly no): a restart of Redis loses threads and runs',
        },
      ];

const memoryFindings = (maxBytes: string | undefined): RedisFinding[] =>
  maxBytes === '0'
    ? [
        {
          level: 'warning',
          message:
            'Redis has no maxmemory: no run is refused before the memory of its machine is used up; set maxmemory',
        },
      ]
    : [];
