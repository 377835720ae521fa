import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitFor } from '@caribou/testing';
import { WebSocket, WebSocketServer } from 'ws';
import { SlowReaders } from '../../runs/streams/slow-readers.js';
import { SocketWriter } from './socket-writer.js';

const MB = 1024 * 1024;

let server: Server;
let sockets: WebSocketServer;

beforeEach(async () => {
  server = createServer();
  sockets = new WebSocketServer({ server });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  for (const client of sockets.clients) client.terminate();
  sockets.close();
  server.close();
});

/** A connection: the writer of the server, and the client. */
async function connect(options: { stallMs?: number; slowReaders?: SlowReaders } = {}) {
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const [[socket]] = (await Promise.all([once(sockets, 'connection'), once(client, 'open')])) as [[WebSocket], unknown];
  const slowReaders = options.slowReaders ?? new SlowReaders(64 * MB);
  const writer = new SocketWriter(socket, { stallMs: options.stallMs ?? 60_000, slowReaders });
  const source = {
    paused: 0,
    resumed: 0,
    pause: () => void (source.paused += 1),
    resume: () => void (source.resumed += 1),
  };
  writer.pauseWhenSlow(source);
  return { client, writer, source, slowReaders };
}

describe(SocketWriter, () => {
  test('writes in order, and makes writers wait while the reader is slow', async () => {
    const { client, writer, source, slowReaders } = await connect();
    const seen: string[] = [];
    client.on('message', (data: Buffer) => seen.push(data.toString('utf8').slice(0, 1)));
    client.pause();
    const writes = ['a', 'b', 'c'].map((letter) => writer.write(letter.repeat(8 * MB)));
    await waitFor(() => slowReaders.heldBytes > 0, { what: 'a slow reader' });
    expect([source.paused, source.resumed]).toEqual([1, 0]);
    expect(slowReaders.heldBytes).toBeLessThan(9 * MB);

    client.resume();
    await Promise.all(writes);
    await waitFor(() => seen.length === 3, { what: 'all messages' });

    expect(seen).toEqual(['a', 'b', 'c']);
    expect(source.resumed).toBe(source.paused);
    expect(slowReaders.heldBytes).toBe(0);
    client.terminate();
  });

  test('cuts off a reader that accepts nothing', async () => {
    const { client, writer, slowReaders } = await connect({ stallMs: 100 });
    client.pause();
    await expect(writer.write('x'.repeat(16 * MB))).rejects.toMatchObject({ reason: 'stalled' });
    await expect(writer.write('y')).rejects.toMatchObject({ reason: 'stalled' });
    expect(slowReaders.heldBytes).toBe(0);
  });

  test('the slowest of all connections is cut off when too much waits', async () => {
    const slowReaders = new SlowReaders(20 * MB);
    const [one, other] = [await connect({ slowReaders }), await connect({ slowReaders })];
    for (const { client } of [one, other]) client.pause();
    const first = expect(one.writer.write('x'.repeat(16 * MB))).rejects.toMatchObject({ reason: 'slow' });
    await waitFor(() => slowReaders.heldBytes > 0, { what: 'the first slow reader' });
    const second = other.writer.write('y'.repeat(16 * MB)).catch(() => undefined);
    await first;
    other.client.terminate();
    await second;
  });

  test('ends with its client', async () => {
    const { client, writer } = await connect();
    client.terminate();
    await waitFor(() => writer.signal.aborted, { what: 'the end' });
    await expect(writer.write('x')).rejects.toMatchObject({ reason: 'client' });
  });
});
