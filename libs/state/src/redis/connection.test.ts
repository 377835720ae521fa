import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { BugError, type RedisSecurity, UnavailableError } from '@caribou/contracts';
import { silentLogger } from '@caribou/core';
import { freePort, makeCertificates, startRedis, type TestServer, waitFor } from '@caribou/testing';
import { checkRedis, requireDurableRedis } from './check-redis.js';
import { createRedis } from './connection.js';
import { loadScript } from './scripts.js';

/** Speaks as a Redis that answers `questions` times that it will load its data for another hour, and then has loaded it. */
async function startLoadingRedis(questions: number) {
  let left = questions;
  const answerTo = (command: string): string => {
    if (!/info/i.test(command)) return '+OK\r\n';
    left -= 1;
    const info = left >= 0 ? 'loading:1\r\nloading_eta_seconds:3600\r\n' : 'loading:0\r\n';
    return `$${info.length}\r\n${info}\r\n`;
  };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => {
      for (const command of text.split(/\*\d+\r\n/).slice(1)) socket.write(answerTo(command));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { close, url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

describe(createRedis, () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(async () => {
    await server.stop();
  });

  test('a killed Redis makes commands unavailable in bounded time, and its restart heals the connection', async () => {
    const redis = createRedis({ url: server.url, commandTimeoutMs: 300, maxReconnectDelayMs: 50 });
    await redis.ping();
    await server.kill9();
    await expect(redis.ping()).rejects.toThrow(UnavailableError);
    await expect(redis.ping()).rejects.toMatchObject({ details: { dependency: 'redis' }, retryable: true });

    await server.restart();

    await waitFor(() => redis.ping().then(() => true), { what: 'the connection' });
    await redis.close();
    await expect(redis.ping()).rejects.toThrow(UnavailableError);
  });

  test('a Redis that loads its data is used once it has, whatever time it has estimated', async () => {
    const { close, url } = await startLoadingRedis(3);
    const redis = createRedis({ url });

    await redis.ping();

    await redis.close();
    close();
  });

  test('a paused Redis makes commands unavailable in bounded time', async () => {
    const redis = createRedis({ url: server.url, commandTimeoutMs: 200 });
    await redis.ping();
    server.pause();

    await expect(redis.ping()).rejects.toThrow(UnavailableError);

    server.resume();
    await waitFor(() => redis.ping().then(() => true), { what: 'the connection' });
    await redis.close();
  });

  test('a part has separate keys on the same connection, and closes with it', async () => {
    const redis = createRedis({ url: server.url, keyPrefix: 'whole:' });
    const part = redis.part('tasks');
    const inner = part.part('more');
    const keysOf = ({ keys }: typeof redis): unknown[] => [keys.pending, keys.runEvents('u', 'r'), keys.audit];

    expect(keysOf(part)).toEqual(['whole:tasks:pending', 'whole:tasks:events:u:r', 'whole:tasks:audit']);
    expect(inner.keys.pending).toBe('whole:tasks:more:pending');
    await part.use((client) => client.set(part.keys.audit, 'x'));
    expect(await redis.use((client) => client.get(part.keys.audit))).toBe('x');
    expect(await redis.use((client) => client.get(redis.keys.audit))).toBeNull();

    await redis.close();
    await expect(part.ping()).rejects.toThrow(UnavailableError);
    await part.close();
  });

  test('scripts are loaded again into a Redis that lost them', async () => {
    const redis = createRedis({ url: server.url });
    const script = loadScript('events/read-events');
    await redis.run(script, ['none'], [0, 1]);
    await redis.use((client) => client.script('FLUSH'));

    expect(await redis.run(script, ['none'], [0, 1])).toEqual([[], 0, 0]);
    await redis.close();
  });

  test('a refusal of Redis itself is unavailable, a wrong command is a defect', async () => {
    const redis = createRedis({ url: server.url });
    await redis.use((client) => client.config('SET', 'maxmemory', '1'));

    await expect(redis.use((client) => client.set('a', 'b'))).rejects.toThrow(UnavailableError);
    await expect(redis.ping()).rejects.toThrow(/OOM/);
    await expect(redis.use((client) => client.call('nonsense'))).rejects.toThrow(BugError);

    await redis.use((client) => client.config('SET', 'maxmemory', '0'));
    await redis.close();
  });
});

describe('createRedis over TLS', () => {
  test('checks the server by the authority and shows the client certificate', async () => {
    const certificates = await makeCertificates();
    const { ca, caFile, client, server: own } = certificates;
    const port = await freePort();
    const files = ['--tls-cert-file', own.certFile, '--tls-key-file', own.keyFile, '--tls-ca-cert-file', caFile];
    const server = await startRedis({ args: ['--tls-port', String(port), ...files] });
    const url = `rediss://127.0.0.1:${port}`;
    const outcome = async (tls: RedisSecurity['tls']): Promise<string> => {
      let refuse: (reason: string) => void = () => undefined;
      const refused = new Promise<string>((resolve) => (refuse = resolve));
      const warn = (fields: object): void => refuse(JSON.stringify(fields));
      const redis = createRedis({
        url,
        commandTimeoutMs: 20_000,
        logger: { ...silentLogger, warn },
        ...(tls === undefined ? {} : { tls }),
      });
      const reply = redis.ping().then(
        () => 'connected',
        (error: unknown) => String(error),
      );
      try {
        return await Promise.race([reply, refused]);
      } finally {
        await redis.close();
      }
    };

    expect(await outcome({ ca, cert: client.cert, key: client.key })).toBe('connected');
    expect(await outcome({ ca })).toMatch(/redis\.error/);
    expect(await outcome(undefined)).toMatch(/certificate/);

    await server.stop();
    await certificates.remove();
  }, 60_000);
});

describe(requireDurableRedis, () => {
  test('does not wait for an unavailable server, and refuses one that evicts', async () => {
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (_fields: object, message: string) => void warnings.push(message) };
    const away = createRedis({ url: 'redis://127.0.0.1:1', commandTimeoutMs: 200 });
    await requireDurableRedis(away, logger);
    await away.close();
    expect(warnings).toEqual([expect.stringContaining('not')]);

    const server = await startRedis({ args: ['--maxmemory-policy', 'allkeys-lru'] });
    const redis = createRedis({ url: server.url });
    await expect(requireDurableRedis(redis, logger)).rejects.toThrow(/set noeviction/);
    await redis.close();
    await server.stop();
  });
});

describe(checkRedis, () => {
  const findings = async (options: Parameters<typeof startRedis>[0]) => {
    const server = await startRedis(options);
    const redis = createRedis({ url: server.url });
    try {
      return await checkRedis(redis);
    } finally {
      await redis.close();
      await server.stop();
    }
  };

  test('a server with AOF, noeviction and maxmemory is fine', async () => {
    expect(await findings({ args: ['--maxmemory', '1gb'] })).toEqual([]);
  });

  test('eviction is an error, a missing AOF and a missing maxmemory are warnings', async () => {
    expect(await findings({ appendonly: false, args: ['--maxmemory-policy', 'allkeys-lru'] })).toEqual([
      { level: 'error', message: expect.stringContaining('allkeys-lru') },
      { level: 'warning', message: expect.stringContaining('AOF') },
      { level: 'warning', message: expect.stringContaining('no maxmemory') },
    ]);
  });

  test('a server that forbids INFO is warned about', async () => {
    expect(await findings({ args: ['--user', 'default', 'on', 'nopass', '~*', '&*', '+@all', '-info'] })).toEqual([
      { level: 'warning', message: expect.stringContaining('INFO') },
    ]);
  });
});
