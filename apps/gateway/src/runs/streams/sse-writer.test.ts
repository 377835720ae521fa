import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { waitFor } from '@caribou/testing';
import { SlowReaders } from './slow-readers.js';
import { ResponseGone, SseWriter, type WriterOptions } from './sse-writer.js';

const MB = 1024 * 1024;

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
          slowReaders: new SlowReaders(MB),
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

  test('a frame that is written at once is sent with the headers', async () => {
    const options = { headers: {}, beat: '', beatMs: 60_000, stallMs: 60_000, slowReaders: new SlowReaders(MB) };
    const server = createServer((_, response) => {
      const writer = new SseWriter(response, options);
      expect(writer.write('metadata', '{}', '1')).toBeUndefined();
      void writer.flush();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: test\r\n\r\n');
    const [first] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));

    expect(first.toString()).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*event: metadata\n/);
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

  test('a long text and its parts arrive whole, with every character and without a beat in between', async () => {
    const { client, writer, close } = await exchange({ beatMs: 1 });
    const text = textOf(client.setEncoding('utf8'));
    // Of an odd and an even offset one divides pairs of surrogates at the borders of pieces.
    const long = '\u{1f600}'.repeat(300_000);
    await writer.write('values', [`x${long}`, long], '1');
    await writer.write('values', 'short', '2');
    await writer.end(long);

    const frames = `event: values\ndata: x${long}${long}\nid: 1\n\nevent: values\ndata: short\nid: 2\n\n`;
    // A difference of megabytes is not printed.
    expect((await text).replaceAll(': heartbeat\n\n', '') === frames + long).toBe(true);
    await close();
  });

  test('a beat that is due before the end of a long frame is flushed comes after that frame', async () => {
    const { client, writer, close } = await exchange({ beatMs: 1 });
    let received = '';
    client.setEncoding('utf8').on('data', (text: string) => (received += text));
    const long = 'x'.repeat(200_000);
    await writer.write('values', long, '1');
    await waitFor(() => received.includes(long) && received.endsWith(': heartbeat\n\n'), { what: 'a beat' });
    await writer.write('updates', [long, 'y'], '2');
    await writer.end();
    await waitFor(() => client.readableEnded, { what: 'the end' });

    const isBeat = (block: string): boolean => block === ': heartbeat' || block === '';
    const frames = received.split('\n\n').filter((block) => !isBeat(block));
    expect(frames.map((frame) => frame.replaceAll('x', ''))).toEqual([
      'event: values\ndata: \nid: 1',
      'event: updates\ndata: y\nid: 2',
    ]);
    await close();
  });

  test('many slow readers of one large text hold it once', async () => {
    const slowReaders = new SlowReaders(64 * MB);
    const text = 'x'.repeat(10 * MB);
    const readers = await Promise.all(Array.from({ length: 20 }, () => exchange({ slowReaders })));
    for (const { client } of readers) client.pause();
    const writes = readers.map(async ({ writer }) => writer.write('values', text, '1')?.catch(() => undefined));
    await waitFor(() => readers.every(({ writer }) => writer.heldBytes > 0), { what: 'slow readers' });

    for (const { writer } of readers) expect(writer.heldBytes).toBeLessThan(MB / 4);
    expect(slowReaders.heldBytes).toBeLessThan(2 * text.length + 5 * MB);
    for (const { client } of readers) client.resume();
    await Promise.all(writes);
    expect(readers.map(({ writer }) => writer.signal.aborted)).not.toContain(true);
    expect(slowReaders.heldBytes).toBe(0);
    for (const { close } of readers) await close();
  }, 30_000);

  test('slow readers of many large texts are cut off over the bound, the slowest first, and others read on', async () => {
    const slowReaders = new SlowReaders(64 * MB);
    const readers = await Promise.all(Array.from({ length: 12 }, () => exchange({ slowReaders })));
    const fast = await exchange({ slowReaders });
    const received = textOf(fast.client);
    for (const [index, { client, writer }] of readers.entries()) {
      client.pause();
      void writer.write('values', String.fromCharCode(97 + index).repeat(8 * MB), '1')?.catch(() => undefined);
      await waitFor(() => writer.heldBytes > 0, { what: 'a slow reader' });
      expect(slowReaders.heldBytes).toBeLessThanOrEqual(64 * MB);
    }

    const cut = readers.map(({ writer }) => writer.signal.aborted);
    expect(cut.lastIndexOf(true)).toBe(cut.filter(Boolean).length - 1);
    expect(cut.filter((gone) => !gone)).toHaveLength(3);
    expect(readers[0]?.writer.signal.reason).toMatchObject({ reason: 'slow' });
    await fast.writer.write('values', 'y'.repeat(8 * MB), '1');
    await fast.writer.end();
    expect((await received).length).toBeGreaterThan(8 * MB);
    for (const { close } of [...readers, fast]) await close();
    await waitFor(() => slowReaders.heldBytes === 0, { what: 'closed connections to hold nothing' });
  }, 30_000);
});
