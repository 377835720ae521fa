import { startRedis, type TestServer } from '@caribou/testing';
import { createRedis, type RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';

describe('includes/clock.lua', () => {
  let server: TestServer;
  let redis: RedisConnection;
  beforeAll(async () => {
    server = await startRedis({ appendonly: false });
    redis = createRedis({ url: server.url });
  });
  afterAll(async () => {
    await redis.close();
    await server.stop();
  });

  test('times have the format of JavaScript, over leap days and ends of years', async () => {
    const source = loadScript('includes/clock').source;
    const iso = (ms: number): Promise<unknown> =>
      redis.use((client) => client.eval(`${source}\nreturn iso(tonumber(ARGV[1]))`, 0, ms));
    const times = [
      '1970-01-01T00:00:00.000Z',
      '2024-02-29T23:59:59.999Z',
      '2024-03-01T00:00:00.000Z',
      '2026-12-31T23:59:59.001Z',
      '2028-12-31T12:30:00.500Z',
      '2099-12-31T23:59:59.999Z',
    ];
    for (let day = 0; day < 1500; day += 1) times.push(new Date(Date.UTC(2025, 0, 1 + day, 5, 6, 7, 8)).toISOString());

    expect(await Promise.all(times.map((time) => iso(Date.parse(time))))).toEqual(times);
  });
});
