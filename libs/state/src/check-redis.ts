import { AppError, UnavailableError } from '@caribou/contracts';
import type { RedisConnection } from './connection.js';

export interface RedisFinding {
  /** An error means: do not start on this server. */
  readonly level: 'error' | 'warning';
  readonly message: string;
}

/**
 * What is wrong with a Redis server as a store of record; empty when nothing is.
 *
 * @throws {UnavailableError} when Redis does not answer in time
 */
export async function checkRedis(redis: RedisConnection): Promise<readonly RedisFinding[]> {
  try {
    const [policy, appendOnly] = await redis.use(async (client) => [
      await settingOf(client.config('GET', 'maxmemory-policy')),
      await settingOf(client.config('GET', 'appendonly')),
    ]);
    return [...policyFindings(policy), ...appendOnlyFindings(appendOnly)];
  } catch (error) {
    if (error instanceof UnavailableError || !(error instanceof AppError)) throw error;
    return [
      {
        level: 'warning',
        message: 'Redis forbids CONFIG GET: make sure that maxmemory-policy is noeviction and appendonly is yes',
      },
    ];
  }
}

async function settingOf(reply: Promise<unknown>): Promise<string> {
  const pair = await reply;
  return Array.isArray(pair) ? String(pair[1]) : '';
}

const policyFindings = (policy: string | undefined): RedisFinding[] =>
  policy === 'noeviction'
    ? []
    : [
        {
          level: 'error',
          message: `Redis has maxmemory-policy ${policy ?? ''}: it would evict threads; set noeviction`,
        },
      ];

const appendOnlyFindings = (appendOnly: string | undefined): RedisFinding[] =>
  appendOnly === 'yes'
    ? []
    : [
        {
          level: 'warning',
          message: 'Redis runs without AOF (appendonly no): a restart of Redis loses threads and runs',
        },
      ];
