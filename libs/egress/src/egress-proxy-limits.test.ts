import { once } from 'node:events';
import { createServer } from 'node:net';
import { parseEgressRule } from './egress-rules.js';
import { connectTo, type EgressFixture, listen, portOf, textOf, useEgress } from './testing/egress-fixture.js';

// Under load the default of five seconds is not enough.
let egress: EgressFixture;

useEgress((fixture) => {
  egress = fixture;
});

describe('EgressProxy with failures and limits', () => {
  test('carries one request per connection: a second one, smuggled behind the first, goes nowhere', async () => {
    const { exchange, resolved } = await egress.proxyWith();

    const answer = await exchange(egress.plain('/first') + egress.plain('/second', 'other.test'));

    expect(egress.seen.filter(({ url }) => url !== '/first')).toEqual([]);
    expect(answer.match(/HTTP\/1\.1/g)?.length ?? 0).toBeLessThanOrEqual(1);
    expect(resolved).not.toContain('other.test');
  });

  test('bounds headers, the time for them, silence, and bytes', async () => {
    const { exchange } = await egress.proxyWith({ limits: { headerBytes: 2048, headerTimeoutMs: 50 } });
    expect(await exchange(`GET http://site.test/ HTTP/1.1\r\nX: ${'x'.repeat(4096)}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 400/,
    );
    expect(await exchange('GET http://site.test/ HTTP/1.1\r\nHo')).toBe('');

    const silent = await egress.proxyWith({ limits: { idleMs: 50 } });
    expect(await silent.exchange(connectTo(`echo.test:${portOf(egress.echo)}`))).toMatch(/^HTTP\/1\.1 200 /);
    expect(await silent.entry()).toMatchObject({ verdict: 'failed', reason: 'silent for too long' });

    const small = await egress.proxyWith({ limits: { bytesPerConnection: 1000 } });
    await small.exchange(connectTo(`echo.test:${portOf(egress.echo)}`) + 'x'.repeat(100_000));
    expect(await small.entry()).toMatchObject({ verdict: 'failed', reason: 'over the byte limit' });
  });

  test('accepts a limited number of connections of a client, until one of them ends', async () => {
    const { open, exchange } = await egress.proxyWith({ limits: { connectionsPerClient: 2 } });
    const first = await open();
    const second = await open();
    for (const socket of [first, second]) {
      socket.write(connectTo(`echo.test:${portOf(egress.echo)}`));
      await once(socket, 'data');
    }

    expect(await exchange(egress.plain())).toMatch(/^(HTTP\/1\.1 503 too many connections[^]*)?$/);
    first.destroy();
    let answer = '';
    while (!answer.startsWith('HTTP/1.1 200')) answer = await exchange(egress.plain());
  });

  test('waits for a client that does not read instead of holding what the target sends', async () => {
    const bound = 64 * 1024 * 1024;
    let sent = 0;
    const endless = await listen(
      createServer((socket) => {
        const push = (): void => {
          while (!socket.destroyed && socket.write(Buffer.alloc(65_536))) sent += 65_536;
        };
        socket.on('drain', push).on('error', () => undefined);
        push();
      }),
    );
    egress.closeAfterTest(() => endless.close());
    const { open, exchange } = await egress.proxyWith({ rules: [parseEgressRule(`endless.test:${portOf(endless)}`)] });
    const socket = await open();
    socket.write(connectTo(`endless.test:${portOf(endless)}`));
    socket.pause();

    while (sent === 0) await new Promise((resolve) => setImmediate(resolve));
    // The proxy is done with another client in between, and so has had the time to take more for this one.
    for (let before = -1; before !== sent && sent < bound; ) {
      before = sent;
      expect(await exchange(egress.plain())).toMatch(/^HTTP/);
    }

    expect(sent).toBeGreaterThan(0);
    expect(sent).toBeLessThan(bound);
  });

  test('ends what it carries when it is closed', async () => {
    const { proxy, open, exchange } = await egress.proxyWith();
    const socket = await open();
    socket.write(connectTo(`echo.test:${portOf(egress.echo)}`));
    await once(socket, 'data');

    proxy.close();

    await textOf(socket).catch((error: unknown) => expect(error).toMatchObject({ code: 'ECONNRESET' }));
    expect(await exchange(egress.plain())).toMatch(/^(HTTP\/1\.1 503[^]*)?$/);
  });

  test('tries the next address when one does not answer, and replies 502 when none does', async () => {
    const isAllowedAddress = (): boolean => true;
    const several = await egress.proxyWith({
      isAllowedAddress,
      resolve: () => Promise.resolve(['127.0.0.9', '127.0.0.1']),
    });
    expect(await several.exchange(egress.plain())).toMatch(/^HTTP\/1\.1 200 /);

    const none = await egress.proxyWith({ isAllowedAddress, resolve: () => Promise.resolve(['127.0.0.9']) });
    expect(await none.exchange(egress.plain())).toMatch(/^HTTP\/1\.1 502 site\.test:\d+ does not answer/);
    const unknown = await egress.proxyWith({ resolve: () => Promise.reject(new Error('ENOTFOUND')) });
    expect(await unknown.exchange(egress.plain())).toMatch(/^HTTP\/1\.1 502 site\.test cannot be resolved/);
    const slow = await egress.proxyWith({
      resolve: () => new Promise(() => undefined),
      limits: { resolveTimeoutMs: 20 },
    });
    expect(await slow.exchange(egress.plain())).toMatch(/^HTTP\/1\.1 504 site\.test was not resolved within 20 ms/);
    expect(await slow.entry()).toMatchObject({ verdict: 'failed' });
  });
});
