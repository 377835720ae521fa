import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type Server as HttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { EgressProxy, type EgressProxyOptions } from './egress-proxy.js';
import { parseEgressRule } from './egress-rules.js';
import type { EgressEntry } from './proxied-connection.js';

// A machine that has much else to do.
jest.setTimeout(60_000);

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

async function listening<T extends Server>(server: T): Promise<T> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function textOf(stream: AsyncIterable<unknown>): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += String(chunk);
  return text;
}

describe('EgressProxy', () => {
  let target: HttpServer;
  let echo: Server;
  let seen: { url: string; rawHeaders: string[]; body: string }[];
  const cleanups: (() => void)[] = [];

  beforeEach(async () => {
    seen = [];
    const answer = async (request: IncomingMessage): Promise<string> => {
      const body = await textOf(request);
      seen.push({ url: request.url ?? '', rawHeaders: request.rawHeaders, body });
      return `you sent ${body}`;
    };
    target = await listening(
      createHttpServer((request, response) => {
        response.setHeader('set-cookie', ['a=1', 'b=2']);
        response.setHeader('x-hop', 'secret');
        response.setHeader('connection', 'x-hop');
        if (request.url === '/redirect') response.writeHead(302, { location: 'http://169.254.169.254/' });
        void answer(request).then((text) => response.end(text));
      }),
    );
    echo = await listening(createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)));
    cleanups.push(
      () => target.close(),
      () => echo.close(),
      () => target.closeAllConnections(),
    );
  });
  afterEach(() => {
    for (const cleanup of cleanups.splice(0).reverse()) cleanup();
  });

  /** A proxy for one client, whose names all lead to 127.0.0.1, and a way to open connections to it. */
  async function proxyWith(
    options: Partial<EgressProxyOptions> = {},
    policy: 'loopback only' | 'default' = 'loopback only',
  ) {
    const entries: EgressEntry[] = [];
    const resolved: string[] = [];
    const proxy = new EgressProxy({
      rules: [`site.test:${portOf(target)}`, `echo.test:${portOf(echo)}`, '127.0.0.1', 'other.test'].map(
        parseEgressRule,
      ),
      resolve: (host) => {
        resolved.push(host);
        return Promise.resolve(['127.0.0.1']);
      },
      ...(policy === 'default' ? {} : { isAllowedAddress: (address: string) => address === '127.0.0.1' }),
      ...options,
    });
    const client = { id: 'box', onEnd: (entry: EgressEntry) => void entries.push(entry) };
    const front = await listening(createServer({ allowHalfOpen: true }, (socket) => proxy.serve(socket, client)));
    cleanups.push(
      () => front.close(),
      () => proxy.close(),
    );
    const open = async (): Promise<Socket> => {
      const socket = connect({ port: portOf(front), host: '127.0.0.1', allowHalfOpen: true });
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      cleanups.push(() => socket.destroy());
      return socket;
    };
    const exchange = async (text: string | Buffer): Promise<string> => {
      const socket = await open();
      socket.write(text);
      const answer = await textOf(socket.setEncoding('latin1'));
      socket.destroy();
      return answer;
    };
    const entry = async (): Promise<EgressEntry | undefined> => {
      while (entries.length === 0) await new Promise((resolve) => setImmediate(resolve));
      return entries[0];
    };
    return { proxy, open, exchange, entry, entries, resolved };
  }

  const plain = (path = '/', host = `site.test:${portOf(target)}`): string =>
    `GET http://${host}${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
  const connectTo = (host: string): string => `CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;

  test('carries a tunnel both ways, with a half-closed end, and reports what it carried', async () => {
    const { open, entry, resolved } = await proxyWith();
    const socket = await open();

    socket.end(`${connectTo(`ECHO.test.:${portOf(echo)}`)}early and `);
    const answer = await textOf(socket.setEncoding('utf8'));

    expect(answer).toBe('HTTP/1.1 200 Connection established\r\n\r\nearly and ');
    expect(resolved).toEqual(['echo.test']);
    const target = { host: 'echo.test', port: portOf(echo) };
    expect(await entry()).toMatchObject({
      method: 'CONNECT',
      ...target,
      verdict: 'allowed',
      bytesUp: 10,
      bytesDown: 10,
    });
  });

  test('sends a plain request on in origin form, under the host it was checked for, without the hop-by-hop headers', async () => {
    const { exchange, entry } = await proxyWith();
    const authority = `site.test:${portOf(target)}`;

    const answer = await exchange(
      `POST http://${authority}/a/../b?c=%20d HTTP/1.1\r\nHost: evil.test\r\nProxy-Authorization: Basic c2VjcmV0\r\n` +
        `Proxy-Connection: keep-alive\r\nConnection: keep-alive, X-Mine\r\nX-Mine: 1\r\nUpgrade: websocket\r\nTE: trailers\r\n` +
        `Authorization: Bearer mine\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
    );

    expect(seen).toEqual([{ url: '/a/../b?c=%20d', rawHeaders: expect.any(Array), body: 'hello' }]);
    const headers = seen[0]?.rawHeaders.map((text) => text.toLowerCase()) ?? [];
    expect(headers).toEqual(expect.arrayContaining(['host', authority, 'authorization', 'bearer mine', 'close']));
    for (const gone of ['proxy-authorization', 'proxy-connection', 'x-mine', 'upgrade', 'te', 'evil.test'])
      expect(headers).not.toContain(gone);
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*set-cookie: a=1\r\nset-cookie: b=2\r\n[^]*you sent hello/i);
    expect(answer).not.toMatch(/x-hop/i);
    expect(await entry()).toMatchObject({ method: 'POST', host: 'site.test', port: portOf(target) });
  });

  test('keeps a body in its frame when the connection header names its length away', async () => {
    const { exchange } = await proxyWith();
    const inner = 'GET /inner HTTP/1.1\r\nHost: site.test\r\n\r\n';

    await exchange(
      `GET http://site.test:${portOf(target)}/outer HTTP/1.1\r\nHost: x\r\nConnection: Content-Length\r\n` +
        `Content-Length: ${inner.length}\r\n\r\n${inner}`,
    );

    expect(seen.map(({ url, body }) => [url, body])).toEqual([['/outer', inner]]);
  });

  test('hands a redirect to the client and does not follow it', async () => {
    const { exchange, resolved } = await proxyWith();

    expect(await exchange(plain('/redirect'))).toMatch(/^HTTP\/1\.1 302 [^]*location: http:\/\/169\.254\.169\.254\//i);
    expect(resolved).toEqual(['site.test']);
  });

  test('refuses what is not listed with 403 and a text that says so, before it asks for any address', async () => {
    const { exchange, entries, resolved } = await proxyWith();
    const hosts = [
      'example.org',
      'sub.site.test',
      'redis:6379',
      '[::1]',
      '169.254.169.254',
      '2852039166',
      '127.1:8080',
    ];

    for (const host of hosts) {
      const authority = /:\d+$/.test(host) ? host : `${host}:80`;
      const refused =
        /^HTTP\/1\.1 403 \S+ is not on the allow-list\r\n[^]*egress proxy: \S+ is not on the allow-list\n$/;
      expect(await exchange(connectTo(authority))).toMatch(refused);
      expect(await exchange(plain('/', authority))).toMatch(refused);
    }
    expect(resolved).toEqual([]);
    expect(entries.map(({ verdict }) => verdict)).toEqual(hosts.flatMap(() => ['refused', 'refused']));
    expect(entries.at(-1)).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      reason: '127.0.0.1:8080 is not on the allow-list',
    });
  });

  test('refuses a listed name as soon as one of its addresses is not allowed, and a listed address as well', async () => {
    for (const addresses of [
      ['127.0.0.1'],
      ['8.8.8.8', '169.254.169.254'],
      ['::ffff:8.8.8.8'],
      ['64:ff9b::808:808'],
      ['x'],
    ]) {
      const { exchange } = await proxyWith({ resolve: () => Promise.resolve(addresses) }, 'default');
      expect(await exchange(connectTo('other.test:443'))).toMatch(
        /^HTTP\/1\.1 403 other\.test:443 leads to an address/,
      );
    }
    const { exchange } = await proxyWith({}, 'default');
    expect(await exchange(plain('/', '127.0.0.1'))).toMatch(/^HTTP\/1\.1 403 127\.0\.0\.1:80 leads to an address/);
  });

  test('connects to the address that was checked, whatever the name says the next time', async () => {
    let times = 0;
    const { exchange } = await proxyWith({
      resolve: () => Promise.resolve([times++ === 0 ? '127.0.0.1' : '127.0.0.2']),
    });

    expect(await exchange(plain())).toMatch(/^HTTP\/1\.1 200 /);
    expect(times).toBe(1);
    expect(await exchange(plain())).toMatch(/^HTTP\/1\.1 403 /);
  });

  test('takes the next address when one does not answer, and says 502 when none does', async () => {
    const isAllowedAddress = (): boolean => true;
    const several = await proxyWith({ isAllowedAddress, resolve: () => Promise.resolve(['127.0.0.9', '127.0.0.1']) });
    expect(await several.exchange(plain())).toMatch(/^HTTP\/1\.1 200 /);

    const none = await proxyWith({ isAllowedAddress, resolve: () => Promise.resolve(['127.0.0.9']) });
    expect(await none.exchange(plain())).toMatch(/^HTTP\/1\.1 502 site\.test:\d+ does not answer/);
    const unknown = await proxyWith({ resolve: () => Promise.reject(new Error('ENOTFOUND')) });
    expect(await unknown.exchange(plain())).toMatch(/^HTTP\/1\.1 502 site\.test cannot be resolved/);
    const slow = await proxyWith({ resolve: () => new Promise(() => undefined), limits: { resolveTimeoutMs: 20 } });
    expect(await slow.exchange(plain())).toMatch(/^HTTP\/1\.1 504 site\.test was not resolved within 20 ms/);
    expect(await slow.entry()).toMatchObject({ verdict: 'failed' });
  });

  test('answers 400 to what is no proxy request, and to hosts that are written to deceive', async () => {
    const { exchange, resolved } = await proxyWith();
    const site = `site.test:${portOf(target)}`;
    const requests = [
      ...[
        'GET / HTTP/1.1',
        `GET https://${site}/ HTTP/1.1`,
        `GET ftp://${site}/ HTTP/1.1`,
        'CONNECT site.test HTTP/1.1',
      ],
      ...[`GET http://a@${site}/ HTTP/1.1`, `GET http://${site}@evil.test/ HTTP/1.1`, `CONNECT a@${site} HTTP/1.1`],
      ...[`GET http://site.test\\@evil.test/ HTTP/1.1`, `CONNECT site.test%00.evil:443 HTTP/1.1`, 'nonsense'],
      ...[`CONNECT site.test\0.evil:443 HTTP/1.1`, 'CONNECT site.test :443 HTTP/1.1', `CONNECT ::1:443 HTTP/1.1`],
    ];

    for (const request of requests)
      expect([request, (await exchange(`${request}\r\nHost: x\r\n\r\n`)).slice(0, 12)]).toEqual([
        request,
        'HTTP/1.1 400',
      ]);
    expect(resolved).toEqual([]);
  });

  test('carries one request per connection: a second one, smuggled behind the first, goes nowhere', async () => {
    const { exchange, resolved } = await proxyWith();

    const answer = await exchange(plain('/first') + plain('/second', 'other.test'));

    expect(seen.filter(({ url }) => url !== '/first')).toEqual([]);
    expect(answer.match(/HTTP\/1\.1/g)?.length ?? 0).toBeLessThanOrEqual(1);
    expect(resolved).not.toContain('other.test');
  });

  test('bounds headers, the time for them, silence, and bytes', async () => {
    const { exchange } = await proxyWith({ limits: { headerBytes: 2048, headerTimeoutMs: 50 } });
    expect(await exchange(`GET http://site.test/ HTTP/1.1\r\nX: ${'x'.repeat(4096)}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 400/,
    );
    expect(await exchange('GET http://site.test/ HTTP/1.1\r\nHo')).toBe('');

    const silent = await proxyWith({ limits: { idleMs: 50 } });
    expect(await silent.exchange(connectTo(`echo.test:${portOf(echo)}`))).toMatch(/^HTTP\/1\.1 200 /);
    expect(await silent.entry()).toMatchObject({ verdict: 'failed', reason: 'silent for too long' });

    const small = await proxyWith({ limits: { bytesPerConnection: 1000 } });
    await small.exchange(connectTo(`echo.test:${portOf(echo)}`) + 'x'.repeat(100_000));
    expect(await small.entry()).toMatchObject({ verdict: 'failed', reason: 'over the byte limit' });
  });

  test('takes so many connections of a client and no more, until one of them ends', async () => {
    const { open, exchange } = await proxyWith({ limits: { connectionsPerClient: 2 } });
    const first = await open();
    const second = await open();
    for (const socket of [first, second]) {
      socket.write(connectTo(`echo.test:${portOf(echo)}`));
      await once(socket, 'data');
    }

    expect(await exchange(plain())).toMatch(/^(HTTP\/1\.1 503 too many connections[^]*)?$/);
    first.destroy();
    let answer = '';
    while (!answer.startsWith('HTTP/1.1 200')) answer = await exchange(plain());
  });

  test('waits for a client that does not read instead of holding what the target sends', async () => {
    const bound = 64 * 1024 * 1024;
    let sent = 0;
    const endless = await listening(
      createServer((socket) => {
        const push = (): void => {
          while (!socket.destroyed && socket.write(Buffer.alloc(65_536))) sent += 65_536;
        };
        socket.on('drain', push).on('error', () => undefined);
        push();
      }),
    );
    cleanups.push(() => endless.close());
    const { open, exchange } = await proxyWith({ rules: [parseEgressRule(`endless.test:${portOf(endless)}`)] });
    const socket = await open();
    socket.write(connectTo(`endless.test:${portOf(endless)}`));
    socket.pause();

    while (sent === 0) await new Promise((resolve) => setImmediate(resolve));
    // The proxy is done with another client in between, and so has had the time to take more for this one.
    for (let before = -1; before !== sent && sent < bound; ) {
      before = sent;
      expect(await exchange(plain())).toMatch(/^HTTP/);
    }

    expect(sent).toBeGreaterThan(0);
    expect(sent).toBeLessThan(bound);
  });

  test('ends what it carries when it is closed', async () => {
    const { proxy, open, exchange } = await proxyWith();
    const socket = await open();
    socket.write(connectTo(`echo.test:${portOf(echo)}`));
    await once(socket, 'data');

    proxy.close();

    await textOf(socket).catch((error: unknown) => expect(error).toMatchObject({ code: 'ECONNRESET' }));
    expect(await exchange(plain())).toMatch(/^(HTTP\/1\.1 503[^]*)?$/);
  });
});
