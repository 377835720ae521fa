import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import { leaveUnread } from './leave-unread.js';

const MB = 1024 * 1024;

describe('a refused request', () => {
  let server: FastifyInstance;
  let port: number;

  beforeAll(async () => {
    server = Fastify();
    server.addHook('onRequest', (request, reply, done) => {
      leaveUnread(request, reply);
      done(Object.assign(new Error('too many'), { statusCode: 429 }));
    });
    server.post('/', () => 'never');
    await server.listen({ port: 0, host: '127.0.0.1' });
    ({ port } = server.server.address() as AddressInfo);
  });
  afterAll(() => server.close());

  test('with a large body is answered, and the body is not read', async () => {
    const accepted = once(server.server, 'connection') as Promise<[Socket]>;
    const client = connect(port, '127.0.0.1');
    let answer = '';
    client.on('data', (chunk: Buffer) => (answer += chunk.toString('utf8')));
    // The rest of the body meets a connection that is gone.
    client.on('error', () => undefined);
    const closed = new Promise((resolve) => client.once('close', resolve));
    client.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\ncontent-length: ${64 * MB}\r\n\r\n`);
    client.write(Buffer.alloc(64 * MB));

    const [served] = await accepted;
    await closed;

    expect(answer).toContain('HTTP/1.1 429');
    expect(served.bytesRead).toBeLessThan(MB);
  });

  test('with a large body shows its answer to fetch', async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: 'x'.repeat(20 * MB) });

    expect(answer.status).toBe(429);
    expect(await answer.json()).toMatchObject({ message: 'too many' });
  });

  test('with a small body keeps its connection', async () => {
    const client = connect(port, '127.0.0.1');
    const body = 'x'.repeat(1000);
    const request = `POST / HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    for (let turn = 0; turn < 2; turn += 1) {
      client.write(request);
      const [chunk] = (await once(client, 'data')) as [Buffer];
      expect(chunk.toString('utf8')).toContain('HTTP/1.1 429');
    }
    client.destroy();
  });
});
