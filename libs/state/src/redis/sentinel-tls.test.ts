import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { freePort, makeCertificates, startRedis, type TestCertificates, type TestServer } from '@caribou/testing';
import { createRedis } from './connection.js';

/** Answers every command as a Sentinel that knows the primary, over TLS. */
async function startTlsSentinel({ server: own }: TestCertificates, primaryPort: number) {
  const answerTo = (command: string): string => {
    if (/get-master-addr-by-name/i.test(command)) {
      const port = String(primaryPort);
      return `*2\r\n$9\r\n127.0.0.1\r\n$${port.length}\r\n${port}\r\n`;
    }
    return /\r\nsentinels\r\n/i.test(command) ? '*0\r\n' : '+OK\r\n';
  };
  const sockets = new Set<TLSSocket>();
  const server: Server = createServer({ cert: own.cert, key: own.key }, (socket) => {
    sockets.add(socket);
    socket.setEncoding('utf8');
    socket.on('error', () => socket.destroy());
    socket.on('data', (text: string) => {
      for (const command of text.split(/\*\d+\r\n/).slice(1)) socket.write(answerTo(command));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { port: (server.address() as AddressInfo).port, close };
}

describe('createRedis with Sentinels behind TLS', () => {
  let certificates: TestCertificates;
  let foreign: TestCertificates;
  let redis: TestServer;
  let sentinel: Awaited<ReturnType<typeof startTlsSentinel>>;

  beforeAll(async () => {
    [certificates, foreign] = await Promise.all([makeCertificates(), makeCertificates()]);
    const port = await freePort();
    const { server: own, caFile } = certificates;
    const files = ['--tls-cert-file', own.certFile, '--tls-key-file', own.keyFile, '--tls-ca-cert-file', caFile];
    redis = await startRedis({ args: ['--tls-port', String(port), '--tls-auth-clients', 'no', ...files] });
    sentinel = await startTlsSentinel(certificates, port);
  });
  afterAll(async () => {
    sentinel.close();
    await redis.stop();
    await Promise.all([certificates.remove(), foreign.remove()]);
  });

  const outcomeOf = async (scheme: string, ca: string): Promise<string> => {
    const url = `${scheme}://127.0.0.1:${sentinel.port}/main`;
    const connection = createRedis({ url, tls: { ca }, commandTimeoutMs: 1_000, maxReconnectDelayMs: 100 });
    try {
      await connection.ping();
      return 'works';
    } catch (error) {
      return error instanceof Error ? error.constructor.name : 'unknown';
    } finally {
      await connection.close();
    }
  };

  test('reaches both by TLS, which only rediss+sentinel asks for', async () => {
    expect(await outcomeOf('rediss+sentinel', certificates.ca)).toBe('works');
    expect(await outcomeOf('redis+sentinel', certificates.ca)).toBe('UnavailableError');
  });

  test('refuses servers whose certificates are not signed by the authority of REDIS_CA', async () => {
    expect(await outcomeOf('rediss+sentinel', foreign.ca)).toBe('UnavailableError');
  });
});
