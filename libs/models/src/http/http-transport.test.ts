import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '@caribou/testing';
import { closeServersAfterEach, listen, serve, STREAM_HEADERS } from '../testing/scripted-provider.js';
import type { Answer } from './exchange.js';
import { createTransport, type Post, Refusal } from './http-transport.js';

closeServersAfterEach();

const MIB = 1024 * 1024;
const body = Buffer.from('{}');
const never = (): AbortSignal => new AbortController().signal;

const postTo = (url: string, headers = {}): Post =>
  createTransport({ connectMs: 5_000 }).openTarget({ url, headers: new Headers(headers) });

/** Reads a body to its end. */
const textOf = (answer: Answer): Promise<string> =>
  new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    answer.read({
      part: (part) => parts.push(part),
      end: (error) => {
        if (error === undefined) resolve(Buffer.concat(parts).toString());
        else reject(error);
      },
    });
  });

test('posts path, query, headers and body, with the credentials of the URL', async () => {
  const seen: [string | undefined, IncomingMessage['headers'], string][] = [];
  const url = new URL(
    await serve((response, { url: path, headers }, text) => {
      seen.push([path, headers, text]);
      response.end('ok');
    }),
  );
  url.search = '?a=1';
  [url.username, url.password] = ['me', 'p@ss'];
  const headers = { 'x-key': 'k', expect: '100-continue', 'content-length': '9' };
  expect(await textOf(await postTo(url.href, headers)(body, never()))).toBe('ok');
  expect(seen).toEqual([
    [
      '/v1?a=1',
      {
        host: url.host,
        'x-key': 'k',
        authorization: `Basic ${Buffer.from('me:p@ss').toString('base64')}`,
        'content-length': '2',
        connection: 'keep-alive',
      },
      '{}',
    ],
  ]);
});

test('a body flows only once it is read, and comes whole', async () => {
  let sent: ServerResponse | undefined;
  const url = await serve((response) => (sent = response.writeHead(200, STREAM_HEADERS).end('x'.repeat(16 * MIB))));
  const answer = await postTo(url)(body, never());
  await delay(200);
  expect(sent?.writableFinished).toBe(false);
  expect(await textOf(answer)).toHaveLength(16 * MIB);
});

test('an answer that has ended before it is read', async () => {
  const answer = await postTo(await serve((response) => void response.end('whole')))(body, never());
  await delay(50);
  expect(await textOf(answer)).toBe('whole');
});

test('headers before the answer are skipped', async () => {
  const url = await serve((response) => {
    response.writeEarlyHints({ link: '</a>; rel=preload' });
    response.writeProcessing();
    response.end('late');
  });
  expect(await textOf(await postTo(url)(body, never()))).toBe('late');
});

test('an error body without end is read to its limit, then the connection is closed', async () => {
  let closed = false;
  const url = await serve((response) => {
    response.on('close', () => (closed = true));
    const write = (): void => {
      while (!closed && response.write('é'.repeat(1_000)));
    };
    response.writeHead(500, ['retry-after', '3', 'retry-after', '9']).on('drain', write);
    write();
  });
  const error: unknown = await postTo(url)(body, never()).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Refusal);
  expect(error).toMatchObject({ status: 500, headers: { 'retry-after': '3' }, body: 'é'.repeat(32 * 1_024) });
  await waitFor(() => closed, { what: 'the connection to close' });
});

describe('a closed request', () => {
  test('is not repeated when its connection was a reused one', async () => {
    let requests = 0;
    let closed = false;
    const url = await serve((response) => {
      requests += 1;
      if (requests === 2) response.on('close', () => (closed = true));
      else response.end('ok');
    });
    const post = postTo(url);
    await textOf(await post(body, never()));
    const abort = new AbortController();
    const waiting = post(body, abort.signal);
    await waitFor(() => requests === 2, { what: 'the second request' });
    abort.abort();
    await expect(waiting).rejects.toThrow('closed');
    await waitFor(() => closed, { what: 'the connection to close' });
    expect(await textOf(await post(body, never()))).toBe('ok');
    expect(requests).toBe(3);
  });

  test('is not sent when it is closed at once, nor does it harm the next one', async () => {
    let requests = 0;
    const url = await serve((response) => {
      requests += 1;
      response.end('ok');
    });
    const post = postTo(url);
    await textOf(await post(body, never()));
    await delay(20);
    const abort = new AbortController();
    const waiting = post(body, abort.signal);
    abort.abort();
    await expect(waiting).rejects.toThrow('closed');
    expect(await textOf(await post(body, never()))).toBe('ok');
    expect(requests).toBe(2);
  });

  test('ends the attempt to connect', async () => {
    let [opened, closed] = [false, false];
    const server = createTcpServer((socket) => {
      opened = true;
      socket.on('close', () => (closed = true)).resume();
    });
    const abort = new AbortController();
    const waiting = postTo(await listen(server, 'https'))(body, abort.signal);
    await waitFor(() => opened, { what: 'the connection' });
    abort.abort();
    await expect(waiting).rejects.toThrow('closed');
    await waitFor(() => closed, { what: 'the connection to close' });
  });
});

test('a connection that the server resets before an answer is replaced once', async () => {
  const ports: (number | undefined)[] = [];
  const url = await serve((response, { socket }) => {
    ports.push(socket.remotePort);
    if (ports.length === 1) response.end('ok');
    else socket.destroy();
  });
  const post = postTo(url);
  await textOf(await post(body, never()));
  await expect(post(body, never())).rejects.toThrow();
  expect(ports).toHaveLength(3);
  await expect(post(body, never())).rejects.toThrow();
  expect(ports).toHaveLength(4);
});

test('requests at the same time have a connection each, which later ones use again', async () => {
  const ports: (number | undefined)[] = [];
  const waiting: ServerResponse[] = [];
  const url = await serve((response, { socket }) => {
    ports.push(socket.remotePort);
    if (waiting.push(response) === 20) for (const one of waiting.splice(0)) one.end('ok');
  });
  const post = postTo(url);
  for (let round = 0; round < 2; round += 1)
    await Promise.all(Array.from({ length: 20 }, async () => textOf(await post(body, never()))));
  expect(new Set(ports).size).toBe(20);
});
