import { BugError, isSentinelUrl, omitUndefined, parseSentinelUrl, type RedisSecurity } from '@caribou/contracts';
import { Redis, type RedisOptions } from 'ioredis';

const FIRST_RECONNECT_MS = 20;
/** Pause between two questions whether a Redis that was restarted has loaded its data; its own estimate may be far too long. */
const LOADING_CHECK_MS = 100;
/** Longest wait for one answer of a Sentinel, before the next one is asked. */
const SENTINEL_ANSWER_MS = 1_000;
/** Pause after all Sentinels were asked in vain, which grows with each time. */
const SENTINEL_RETRY_MS = 200;

export interface RedisTarget extends RedisSecurity {
  /** `redis:` or `rediss:` with one server, or the address of Sentinels (`parseSentinelUrl`). */
  readonly url: string;
  /** Longest wait for a connection, and for a reply. */
  readonly timeoutMs: number;
  readonly maxReconnectDelayMs: number;
}

/**
 * A client that connects in the background and reconnects after every loss. It never sends a command again, since a command that was sent when
 * the connection broke may have taken effect. With Sentinels it asks them for the primary at each connect.
 */
export function connectRedis(target: RedisTarget): Redis {
  const options = commonOptions(target);
  if (isSentinelUrl(target.url)) return new Redis({ ...options, ...sentinelOptions(target) });
  const tls = target.tls !== undefined && target.url.startsWith('rediss:') ? { tls: target.tls } : {};
  return new Redis(target.url, { ...options, ...tls });
}

const commonOptions = ({ timeoutMs, maxReconnectDelayMs }: RedisTarget): RedisOptions => ({
  commandTimeout: timeoutMs,
  connectTimeout: timeoutMs,
  enableOfflineQueue: false,
  maxLoadingRetryTime: LOADING_CHECK_MS,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  noDelay: true,
  keepAlive: 10_000,
  socketTimeout: 2 * timeoutMs,
  retryStrategy: (times) => Math.min(FIRST_RECONNECT_MS * 2 ** Math.min(times, 10), maxReconnectDelayMs),
});

function sentinelOptions({ url, tls, sentinel, timeoutMs, maxReconnectDelayMs }: RedisTarget): RedisOptions {
  const address = parseSentinelUrl(url);
  if ('fault' in address) throw new BugError(`the address of Redis ${address.fault}`);
  const { sentinels, name, user, password, db, isTls } = address;
  return {
    sentinels: [...sentinels],
    name,
    db,
    ...omitUndefined({
      username: user,
      password,
      sentinelUsername: sentinel?.user,
      sentinelPassword: sentinel?.password,
    }),
    ...(isTls ? { tls: { ...tls }, enableTLSForSentinelMode: true, sentinelTLS: { ...tls } } : {}),
    // The client's own detector ends the client for good when a failover is announced while it connects. Without it a primary that was replaced
    // is left when it ends its connections, refuses a write, or does not answer for `socketTimeout`.
    failoverDetector: false,
    reconnectOnError: ({ message }) => message.startsWith('READONLY'),
    sentinelCommandTimeout: Math.min(SENTINEL_ANSWER_MS, timeoutMs),
    sentinelRetryStrategy: (times) => Math.min(SENTINEL_RETRY_MS * times, maxReconnectDelayMs),
  };
}
