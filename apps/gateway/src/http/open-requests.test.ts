import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitFor } from '@caribou/testing';
import { fastify } from 'fastify';
import { OpenRequests } from './open-requests.js';

describe(OpenRequests, () => {
  const server = fastify({ forceCloseConnections: true });
  const requests = new OpenRequests();
  let answer: () => void = () => undefined;
  let base: string;

  beforeAll(async () => {
    requests.addTo(server);
    server.get('/now', async () => 'now');
    server.get('/later', async () => {
      await new Promise<void>((resolve) => (answer = resolve));
      return 'later';
    });
    await server.listen({ port: 0, host: '127.0.0.1' });
    base = `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
  });
  afterAll(() => server.close());

  const ask = async (path: string): Promise<IncomingMessage> => {
    const [response] = (await once(get(base + path), 'response')) as [IncomingMessage];
    response.resume();
    return response;
  };

  test('waits for a request that is being answered, and not without one', async () => {
    await requests.waitForEnd(60_000);
    answer = () => undefined;
    const later = ask('/later');
    let isOver = false;
    await ask('/now');
    const end = requests.waitForEnd(60_000).then(() => (isOver = true));
    await ask('/now');
    expect(isOver).toBe(false);

    answer();

    expect((await later).statusCode).toBe(200);
    await end;
  });

  test('waits no longer than it may', async () => {
    const later = ask('/later');
    await ask('/now');

    await requests.waitForEnd(10);

    answer();
    expect((await later).statusCode).toBe(200);
  });

  test('a client that leaves is not waited for', async () => {
    const request = get(`${base}/later`).on('error', () => undefined);
    await once(request, 'socket');
    await waitFor(() => request.socket?.connecting === false, { what: 'the connection' });
    await ask('/now');
    request.destroy();

    await requests.waitForEnd(60_000);

    answer();
  });

  test('asks clients to close their connections once it stops', async () => {
    expect((await ask('/now')).headers.connection).not.toBe('close');
    requests.noteStopping();
    expect((await ask('/now')).headers.connection).toBe('close');
  });
});
