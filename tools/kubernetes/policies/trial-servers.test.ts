import { startNats, startRedis, type TestServer } from '@caribou/testing';
import { Redis } from 'ioredis';
import { connect } from 'nats';
import { z } from 'zod';
import { ofKind } from '../render/objects.js';
import { goldenObjects } from '../render/value-sets.js';

/** What the Secret of a trial server holds in the render of the trial. */
function secretOf(server: 'nats' | 'redis'): Readonly<Record<string, string>> {
  const secret = ofKind(goldenObjects('trial'), 'Secret').find(({ metadata }) => metadata.name === `caribou-${server}`);
  return z.record(z.string(), z.string()).parse(secret?.['stringData']);
}

/** The password in the address that services get. */
const passwordIn = (url = ''): string => new URL(url.replace(/^\w+:/, 'http:')).password;

describe('the trial server of NATS', () => {
  const { NATS_URL: url, 'nats.conf': file = '' } = secretOf('nats');
  let server: TestServer;
  beforeAll(async () => {
    const config = ({ listen, storeDir }: { readonly listen: string; readonly storeDir: string }) =>
      file
        .replace('0.0.0.0:4222', listen)
        .replace(/http: .*/, '')
        .replace('/data', storeDir);
    server = await startNats({ config });
  });
  afterAll(() => server.stop());

  test('takes services by the password of their address, with JetStream and messages of 8 MiB', async () => {
    const connection = await connect({
      servers: `127.0.0.1:${server.port}`,
      user: 'caribou',
      pass: passwordIn(url),
    });
    expect(connection.info?.max_payload).toBe(8 * 1024 * 1024);
    const manager = await connection.jetstreamManager();
    await manager.streams.add({ name: 'TRIAL', subjects: ['trial'] });
    await connection.close();
  });

  test('refuses others', async () => {
    await expect(connect({ servers: `127.0.0.1:${server.port}` })).rejects.toThrow(/authorization/i);
  });
});

describe('the trial server of Redis', () => {
  const { REDIS_URL: url, 'redis.conf': file = '', password } = secretOf('redis');
  let server: TestServer;
  beforeAll(async () => {
    const config = ({ port, dataDir }: { readonly port: number; readonly dataDir: string }) =>
      file.replace('port 6379', `port ${port}`).replace('dir /data', `dir ${dataDir}`);
    server = await startRedis({ config, login: { user: 'default', password: passwordIn(url) } });
  });
  afterAll(() => server.stop());

  test('takes services by the password of their address, stores everything and drops nothing when it is full', async () => {
    expect(password).toBe(passwordIn(url));
    const redis = new Redis({ port: server.port, password: passwordIn(url) });
    const settings = await Promise.all(
      ['appendonly', 'appendfsync', 'maxmemory-policy', 'maxmemory'].map((name) => redis.config('GET', name)),
    );
    expect(settings).toEqual([
      ['appendonly', 'yes'],
      ['appendfsync', 'everysec'],
      ['maxmemory-policy', 'noeviction'],
      ['maxmemory', String(768 * 1024 * 1024)],
    ]);
    await redis.quit();
  });

  test('refuses others', async () => {
    const redis = new Redis({ port: server.port, enableReadyCheck: false });
    await expect(redis.get('x')).rejects.toThrow(/NOAUTH/);
    redis.disconnect();
  });
});
