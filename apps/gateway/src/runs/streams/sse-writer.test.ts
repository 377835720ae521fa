import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ResponseGone, SseWriter, type WriterOptions } from './sse-writer.js';

/** A response that is under way, and the client's end of it. */
async function exchange(options: Partial<WriterOptions>) {
  let server: Server | undefined;
  const made = new Promise<SseWriter>((resolve) => {
    server = createServer((_, response) => {
      resolve(
        new SseWriter(response, {
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

async function textOf(client: IncomingMessage): Promise<string> {
  let text = '';
  for await (const data of client) text += String(data);
  return text;
}

const goneOf = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason), { once: true }));

describe(SseWriter, () => {
  test('headers and beats arrive before anything is written', async () => {
    const { client, writer, close } = await exchange({ beatMs: 5 });
    const text = await new Promise<string>((resolve) => {
      let seen = '';
      client.on('data', (data: Buffer) => {
        seen += data.toString();
        if (seen.length > 40) resolve(seen);
      });
    });
    await writer.end();
    await close();

    expect(client.statusCode).toBe(200);
    expect(text).toMatch(/^(: heartbeat\n\n)+/);
  });

  test('frames arrive together once they are flushed, and what is left with the end', async () => {
    const { client, writer, close } = await exchange({});
    const text = textOf(client);
    await writer.write('values', '{}', '1');
    await writer.write('gap', 'null', null);
    await writer.flush();
    await writer.write('end', 'null', '2');
    await writer.end();

    expect(await text).toBe(
      'event: values\ndata: {}\nid: 1\n\nevent: gap\ndata: null\n\nevent: end\ndata: null\nid: 2\n\n',
    );
    await close();
  });

  test('a reader that does not read is cut off', async () => {
    const { client, writer, close } = await exchange({ stallMs: 50 });
    client.pause();
    const gone = goneOf(writer.signal);

    await expect(writer.write('values', 'x'.repeat(64_000_000), '1')).rejects.toThrow(ResponseGone);
    expect(await gone).toMatchObject({ reason: 'stalled' });
    await expect(writer.end()).rejects.toThrow(ResponseGone);
    await close();
  });

  test('a slow reader that comes back is waited for, with the source paused meanwhile', async () => {
    const { client, writer, close } = await exchange({});
    const calls: string[] = [];
    writer.pauseWhenSlow({
      pause: () => {
        calls.push('pause');
        client.resume();
      },
      resume: () => void calls.push('resume'),
    });
    client.pause();
    while (calls.length === 0) await writer.write('values', 'x'.repeat(1_000_000), '1');

    expect(calls).toEqual(['pause', 'resume']);
    expect(writer.signal.aborted).toBe(false);
    await writer.end();
    await close();
  });

  test('a client that leaves aborts the signal, an end of ours does not', async () => {
    const first = await exchange({});
    const gone = goneOf(first.writer.signal);
    first.client.destroy();
    expect(await gone).toMatchObject({ reason: 'client' });
    await first.close();

    const second = await exchange({});
    const text = textOf(second.client);
    await second.writer.end('bye');
    expect(await text).toBe('bye');
    expect(second.writer.signal.aborted).toBe(false);
    await second.close();
  });
});
