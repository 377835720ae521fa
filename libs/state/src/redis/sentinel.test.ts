import { UnavailableError } from '@caribou/contracts';
import { type RedisSentinels, startRedisSentinels, waitFor } from '@caribou/testing';
import { createRedis, type RedisConnection } from './connection.js';

jest.setTimeout(120_000);

describe('createRedis with Sentinels', () => {
  let servers: RedisSentinels;
  let redis: RedisConnection;
  const open = (url = servers.url): RedisConnection =>
    createRedis({
      url,
      sentinel: { password: servers.sentinelPassword },
      commandTimeoutMs: 500,
      maxReconnectDelayMs: 100,
    });

  beforeEach(async () => {
    servers = await startRedisSentinels();
    redis = open();
  });
  afterEach(async () => {
    await redis.close();
    await servers.stop();
  });

  /** The port of the server that answers. */
  const portNow = async (): Promise<number | undefined> => {
    try {
      return Number(/tcp_port:(\d+)/.exec(await redis.use((client) => client.info('server')))?.[1]);
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      return undefined;
    }
  };
  const becomes = (port: number) =>
    waitFor(async () => (await portNow()) === port, { what: `port ${port} to answer`, timeoutMs: 60_000, everyMs: 50 });

  test('follows the primary after it was killed, with what was replicated', async () => {
    await redis.use((client) => client.set('kept', 'yes'));
    expect(await redis.use((client) => client.wait(1, 5_000))).toBe(1);
    expect(await portNow()).toBe(servers.primary.port);

    await servers.primary.kill9();

    await becomes(servers.replica.port);
    expect(await redis.use((client) => client.get('kept'))).toBe('yes');
    await redis.ping();
  });

  test('leaves a primary that does not answer, once the Sentinels have replaced it', async () => {
    await redis.ping();

    servers.primary.pause();

    await becomes(servers.replica.port);
    await redis.ping();
    servers.primary.resume();
    // What was the primary is a replica now, to which nobody returns.
    await redis.ping();
    expect(await portNow()).toBe(servers.replica.port);
  });

  test('works while one of the Sentinels is away, and says so when none answers', async () => {
    await servers.sentinels[0]?.kill9();
    const one = open();
    await one.ping();
    await one.close();

    await Promise.all(servers.sentinels.map((sentinel) => sentinel.kill9()));

    const none = open();
    await expect(none.ping()).rejects.toMatchObject({ code: 'unavailable', details: { dependency: 'redis' } });
    await none.close();
    await redis.ping();
  });
});
