import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ResponseGone, ResponseWriter, type WriterOptions } from './response-writer.js';

/** A response that is under way, and the client's end of it. */
async function exchange(options: Partial<WriterOptions>) {
  let server: Server | undefined;
  const made = new Promise<ResponseWriter>((resolve) => {
    server = createServer((_, response) => {
      resolve(
        new ResponseWriter(response, {
          headers: {},
          beat: ': heartbeat\n\n',
          beatMs: 60_000,
          stallMs: 60_000,
          ...options,
        }),
      );
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const { port } = server?.address() as AddressInfo;
  const incoming = new Promise<IncomingMessage>((resolve, reject) => {
    request({ port, host: '127.0.0.1' }, resolve).on('error', reject).end();
  });
  const [writer, client] = await Promise.all([made, incoming]);
  client.on('error', () => undefined);
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server?.close(() => resolve());
      server?.closeAllConnections();
    });
  return { writer, client, close };
}

const goneOf = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason), { once: true }));

describe('ResponseWriter', () => {
  test('headers and beats arrive before anything is written', async () => {
    const { client, writer, close } = await exchange({ beatMs: 5 });
    const text = await new Promise<string>((resolve) => {
      let seen = '';
      client.on('data', (data: Buffer) => {
        seen += data.toString();
        if (seen.length > 40) resolve(seen);
      });
    });
    writer.end();
    await close();

    expect(client.statusCode).toBe(200);
    expect(text).toMatch(/^(: heartbeat\n\n)+/);
  });

  test('a reader that does not read is told by write, and cut off', async () => {
    const { client, writer, close } = await exchange({ stallMs: 50 });
    client.pause();
    const gone = goneOf(writer.signal);
    writer.write('x'.repeat(64_000_000));

    await expect(writer.drained()).rejects.toThrow(ResponseGone);
    expect(await gone).toMatchObject({ reason: 'stalled' });
    await close();
  });

  test('a slow reader that comes back is waited for', async () => {
    const { client, writer, close } = await exchange({});
    client.pause();
    while (writer.write('x'.repeat(1_000_000)));
    const drained = writer.drained();
    client.resume();

    await drained;
    expect(writer.signal.aborted).toBe(false);
    writer.end();
    await close();
  });

  test('a client that leaves aborts the signal, an end of ours does not', async () => {
    const first = await exchange({});
    const gone = goneOf(first.writer.signal);
    first.client.destroy();
    expect(await gone).toMatchObject({ reason: 'client' });
    await first.close();

    const second = await exchange({});
    second.writer.end('bye');
    await new Promise((resolve) => second.client.on('end', resolve).resume());
    expect(second.writer.signal.aborted).toBe(false);
    await second.close();
  });
});
