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
    const discard = new SlowDiscard(MB);
    server = Fastify({ forceCloseConnections: true });
    server.addHook('onRequest', (request, _reply, done) => {
      discard.read(request, 'ann');
      done(Object.assign(new Error('too many'), { statusCode: 429 }));
    });
    server.post('/', () => 'never');
    await server.listen({ port: 0, host: '127.0.0.1' });
    ({ port } = server.server.address() as AddressInfo);
  });
  afterAll(() => server.close());

  const head = (bytes: number): string =>
    `POST / HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\ncontent-length: ${bytes}\r\n\r\n`;

  test('is answered at once, and its large body is read slowly, together with others of its user', async () => {
    const served: Socket[] = [];
    server.server.on('connection', (socket: Socket) => served.push(socket));
    const clients = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const client = connect(port, '127.0.0.1');
        client.on('error', () => undefined);
        client.write(head(64 * MB));
        client.write(Buffer.alloc(64 * MB));
        const [answer] = (await once(client, 'data')) as [Buffer];
        expect(answer.toString('utf8')).toContain('HTTP/1.1 429');
        return client;
      }),
    );
    const bytesRead = (): number => served.reduce((sum, socket) => sum + socket.bytesRead, 0);

    const [startMs, startBytes] = [performance.now(), bytesRead()];
    await waitFor(() => bytesRead() > startBytes + MB, { what: 'a MiB of all' });
    expect(performance.now() - startMs).toBeGreaterThan(500);
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

  test('leaves a connection that has sent its body to the next request', async () => {
    const client = connect(port, '127.0.0.1');
    for (let turn = 0; turn < 2; turn += 1) {
      client.write(head(200_000) + 'x'.repeat(200_000));
      const [chunk] = (await once(client, 'data')) as [Buffer];
      expect(chunk.toString('utf8')).toContain('HTTP/1.1 429');
    }
    client.destroy();
  });
});
