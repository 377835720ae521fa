import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { waitFor } from '@caribou/testing';
import Fastify, { type FastifyInstance } from 'fastify';
import { SlowDiscard } from './slow-discard.js';

const MB = 1024 * 1024;

describe('a request that is refused before its body is read', () => {
  let server: FastifyInstance;
  let port: number;

  beforeAll(async () => {
    const discard = new SlowDiscard({ burstBytes: 4 * MB, bytesPerSecond: 2 * MB });
    server = Fastify({ forceCloseConnections: true });
    server.addHook('onRequest', (request, reply, done) => {
      // Each test has a size of its own, and so a user.
      discard.read(request, reply, `user-${request.headers['content-length']}`);
      done(Object.assign(new Error('too many'), { statusCode: 429 }));
    });
    server.post('/', () => 'never');
    await server.listen({ port: 0, host: '127.0.0.1' });
    ({ port } = server.server.address() as AddressInfo);
  });
  afterAll(() => server.close());

  const head = (bytes: number): string =>
    `POST / HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\ncontent-length: ${bytes}\r\n\r\n`;

  test('is answered at once, and beyond the burst its large body is read slowly, together with others of its user', async () => {
    const startMs = performance.now();
    const served: Socket[] = [];
    server.server.on('connection', (socket: Socket) => served.push(socket));
    const clients = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const client = connect(port, '127.0.0.1');
        client.on('error', () => undefined);
        client.write(head(64 * MB));
        client.write(Buffer.alloc(64 * MB));
        const [answer] = (await once(client, 'data')) as [Buffer];
        expect(answer.toString('utf8')).toMatch(/^HTTP\/1.1 429[^]*connection: close/);
        return client;
      }),
    );
    const bytesRead = (): number => served.reduce((sum, socket) => sum + socket.bytesRead, 0);

    await waitFor(() => bytesRead() > 7 * MB, { what: 'the burst of 4 MiB and more' });
    // Each of the connections may have read some hundred KiB more before it was paused.
    const slowMs = ((bytesRead() - 5 * MB) / (2 * MB)) * 1_000;
    expect(performance.now() - startMs).toBeGreaterThan(slowMs);
    expect(served.some((socket) => socket.destroyed)).toBe(false);
    for (const client of clients) client.destroy();
  });

  test('shows its answer to fetch, again and again', async () => {
    for (let turn = 0; turn < 3; turn += 1) {
      const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: 'x'.repeat(20 * MB) });

      expect(answer.status).toBe(429);
      expect(await answer.json()).toMatchObject({ message: 'too many' });
    }
  });

  test('reaches a sender that reads only after all is sent, and the connection ends', async () => {
    const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    const ended = once(client, 'end');
    client.pause();
    client.write(head(8 * MB));
    await new Promise((resolve) => client.write(Buffer.alloc(8 * MB), resolve));

    let answer = '';
    client.on('data', (chunk: Buffer) => (answer += chunk.toString('utf8')));
    client.resume();
    await ended;

    expect(answer).toMatch(/^HTTP\/1.1 429/);
    client.destroy();
  }, 15_000);

  test('leaves the connection of a small body to the next request', async () => {
    const client = connect(port, '127.0.0.1');
    for (let turn = 0; turn < 3; turn += 1) {
      client.write(head(200_000) + 'x'.repeat(200_000));
      const [chunk] = (await once(client, 'data')) as [Buffer];
      expect(chunk.toString('utf8')).toMatch(/^HTTP\/1.1 429[^]*Connection: keep-alive/);
    }
    client.destroy();
  });
});
