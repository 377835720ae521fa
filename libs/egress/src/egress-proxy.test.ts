import { connectTo, type EgressFixture, portOf, textOf, useEgress } from './testing/egress-fixture.js';

// Under load the default of five seconds is not enough.
let egress: EgressFixture;

useEgress((fixture) => {
  egress = fixture;
});

describe('EgressProxy', () => {
  test('carries a tunnel both ways, with a half-closed end, and reports what it carried', async () => {
    const { open, entry, resolved } = await egress.proxyWith();
    const socket = await open();

    socket.end(`${connectTo(`ECHO.test.:${portOf(egress.echo)}`)}early and `);
    const answer = await textOf(socket.setEncoding('utf8'));

    expect(answer).toBe('HTTP/1.1 200 Connection established\r\n\r\nearly and ');
    expect(resolved).toEqual(['echo.test']);
    const target = { host: 'echo.test', port: portOf(egress.echo) };
    expect(await entry()).toMatchObject({
      method: 'CONNECT',
      ...target,
      verdict: 'allowed',
      bytesUp: 10,
      bytesDown: 10,
    });
  });

  test('forwards a plain request in origin form, under the host it was checked for, without the hop-by-hop headers', async () => {
    const { exchange, entry } = await egress.proxyWith();
    const authority = `site.test:${portOf(egress.target)}`;

    const answer = await exchange(
      `POST http://${authority}/a/../b?c=%20d HTTP/1.1\r\nHost: evil.test\r\nProxy-Authorization: Basic c2VjcmV0\r\n` +
        `Proxy-Connection: keep-alive\r\nConnection: keep-alive, X-Mine\r\nX-Mine: 1\r\nUpgrade: websocket\r\nTE: trailers\r\n` +
        `Authorization: Bearer mine\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
    );

    expect(egress.seen).toEqual([{ url: '/a/../b?c=%20d', rawHeaders: expect.any(Array), body: 'hello' }]);
    const headers = egress.seen[0]?.rawHeaders.map((text) => text.toLowerCase()) ?? [];
    expect(headers).toEqual(expect.arrayContaining(['host', authority, 'authorization', 'bearer mine', 'close']));
    for (const gone of ['proxy-authorization', 'proxy-connection', 'x-mine', 'upgrade', 'te', 'evil.test'])
      expect(headers).not.toContain(gone);
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*set-cookie: a=1\r\nset-cookie: b=2\r\n[^]*you sent hello/i);
    expect(answer).not.toMatch(/x-hop/i);
    expect(await entry()).toMatchObject({ method: 'POST', host: 'site.test', port: portOf(egress.target) });
  });

  test('forwards a body with its length when the connection header names its length away', async () => {
    const { exchange } = await egress.proxyWith();
    const inner = 'GET /inner HTTP/1.1\r\nHost: site.test\r\n\r\n';

    await exchange(
      `GET http://site.test:${portOf(egress.target)}/outer HTTP/1.1\r\nHost: x\r\nConnection: Content-Length\r\n` +
        `Content-Length: ${inner.length}\r\n\r\n${inner}`,
    );

    expect(egress.seen.map(({ url, body }) => [url, body])).toEqual([['/outer', inner]]);
  });

  test('returns a redirect to the client and does not follow it', async () => {
    const { exchange, resolved } = await egress.proxyWith();

    expect(await exchange(egress.plain('/redirect'))).toMatch(
      /^HTTP\/1\.1 302 [^]*location: http:\/\/169\.254\.169\.254\//i,
    );
    expect(resolved).toEqual(['site.test']);
  });

  test('refuses what is not listed with 403 and a text that says so, before it asks for any address', async () => {
    const { exchange, entries, resolved } = await egress.proxyWith();
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
      expect(await exchange(egress.plain('/', authority))).toMatch(refused);
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
      const { exchange } = await egress.proxyWith({ resolve: () => Promise.resolve(addresses) }, 'default');
      expect(await exchange(connectTo('other.test:443'))).toMatch(
        /^HTTP\/1\.1 403 other\.test:443 leads to an address/,
      );
    }
    const { exchange } = await egress.proxyWith({}, 'default');
    expect(await exchange(egress.plain('/', '127.0.0.1'))).toMatch(
      /^HTTP\/1\.1 403 127\.0\.0\.1:80 leads to an address/,
    );
  });

  test('connects to the address that was checked, whatever the name says the next time', async () => {
    let times = 0;
    const { exchange } = await egress.proxyWith({
      resolve: () => Promise.resolve([times++ === 0 ? '127.0.0.1' : '127.0.0.2']),
    });

    expect(await exchange(egress.plain())).toMatch(/^HTTP\/1\.1 200 /);
    expect(times).toBe(1);
    expect(await exchange(egress.plain())).toMatch(/^HTTP\/1\.1 403 /);
  });

  test('answers 400 to invalid proxy requests, and to hosts that are written to deceive', async () => {
    const { exchange, resolved } = await egress.proxyWith();
    const site = `site.test:${portOf(egress.target)}`;
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
});
