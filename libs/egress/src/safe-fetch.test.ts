import { brotliCompressSync, gzipSync } from 'node:zlib';
import {
  DeadlineError,
  ForbiddenError,
  InvalidRequestError,
  TooLargeError,
  UnavailableError,
} from '@caribou/contracts';
import { FORBIDDEN_URLS, redirectTo, type Site, type SiteRoute, startSite } from '@caribou/testing';
import { checkUrl } from './checked-url.js';
import { parseEgressRule } from './egress-rules.js';
import { safeFetch, type SafeFetchSettings } from './safe-fetch.js';

// A machine that has much else to do.
const sites: Site[] = [];
afterEach(() => {
  for (const site of sites.splice(0)) site.stop();
});
async function siteWith(routes: Readonly<Record<string, SiteRoute>>): Promise<Site> {
  const site = await startSite(routes);
  sites.push(site);
  return site;
}

const LIMITS = { maxBytes: 100_000, timeoutMs: 20_000 };

/** Names lead to 127.0.0.1, which counts as public; the ports of the sites are open for `*.test`. */
function fetchFor(all: readonly Site[], more: Partial<SafeFetchSettings> = {}): ReturnType<typeof safeFetch> {
  return safeFetch({
    ...LIMITS,
    open: all.map(({ port }) => parseEgressRule(`*.test:${port}`)),
    resolve: () => Promise.resolve(['127.0.0.1']),
    ...more,
  });
}

describe('what may not be fetched', () => {
  const refused = safeFetch({ ...LIMITS, resolve: (host) => Promise.reject(new Error(`${host} was resolved`)) });

  test.each(FORBIDDEN_URLS)('%s is refused before anything is resolved: %s', async (_, url) => {
    const failure = await refused(url).catch((error: unknown) => error);

    expect([InvalidRequestError, ForbiddenError]).toContainEqual((failure as Error).constructor);
  });

  test.each(FORBIDDEN_URLS)('%s is refused as the second step of a redirect: %s', async (_, url) => {
    const site = await siteWith({ '/': redirectTo(url) });
    const failure = await fetchFor([site])(`http://a.test:${site.port}/`).catch((error: unknown) => error);

    // A location without a scheme or host is a path of the same site.
    if (failure instanceof Response) expect(new URL(failure.url).hostname).toBe('a.test');
    else expect([InvalidRequestError, ForbiddenError]).toContainEqual((failure as Error).constructor);
    expect(site.seen[0]?.url).toBe('/');
  });

  test.each(FORBIDDEN_URLS)('%s may not be given to another server that fetches: %s', async (_, url) => {
    const check = checkUrl(url, { resolve: () => Promise.reject(new Error('resolved')) });

    await expect(check).rejects.toThrow(/URL|may not be reached/);
  });

  test('a name is refused when one of its addresses is private, and the public one is not tried', async () => {
    const site = await siteWith({ '/': (_, response) => void response.end('reached') });
    const addresses = ['127.0.0.1', '10.0.0.7'];
    const mixed = fetchFor([site], { open: [], resolve: () => Promise.resolve(addresses) });
    const check = checkUrl('http://a.test/', {
      resolve: () => Promise.resolve(['93.184.215.14', '192.168.0.1']),
    });

    await expect(mixed('http://a.test/')).rejects.toThrow('a.test:80 leads to an address that may not be reached');
    await expect(check).rejects.toThrow(ForbiddenError);
    expect(site.seen).toEqual([]);
  });

  test('a name that would change its address is resolved once, and the connection goes to that address', async () => {
    const site = await siteWith({ '/': (_, response) => void response.end('the first address') });
    const answers = [['127.0.0.1'], ['169.254.169.254'], ['169.254.169.254']];
    const asked: string[] = [];
    const fetch = fetchFor([site], {
      resolve: (host) => {
        asked.push(host);
        return Promise.resolve(answers.shift() ?? []);
      },
    });

    expect(await (await fetch(`http://a.test:${site.port}/`)).text()).toBe('the first address');
    expect(asked).toEqual(['a.test']);
    // The next request looks again, and what it sees then counts.
    await expect(fetch(`http://a.test:${site.port}/`)).rejects.toThrow(ForbiddenError);
    expect(site.seen).toHaveLength(1);
  });

  test('a name that leads elsewhere in the middle of a redirect chain is refused there', async () => {
    const site = await siteWith({});
    const routed = await siteWith({ '/': redirectTo(`http://b.test:${site.port}/`) });
    const fetch = fetchFor([site, routed], {
      resolve: (host) => Promise.resolve(host === 'b.test' ? ['169.254.169.254'] : ['127.0.0.1']),
    });

    await expect(fetch(`http://a.test:${routed.port}/`)).rejects.toThrow('b.test');
    expect(site.seen).toEqual([]);
  });

  test('a host that the operator opened may be this machine, but no metadata address, and only on its port', async () => {
    const site = await siteWith({ '/': (_, response) => void response.end('wiki') });
    const open = [parseEgressRule(`127.0.0.1:${site.port}`), parseEgressRule('wiki.test')];
    const fetch = safeFetch({ ...LIMITS, open, resolve: () => Promise.resolve(['169.254.169.254']) });

    expect(await (await fetch(`http://127.0.0.1:${site.port}/`)).text()).toBe('wiki');
    expect(await (await fetch(`http://2130706433:${site.port}/`)).text()).toBe('wiki');
    await expect(fetch('http://127.0.0.1/')).rejects.toThrow(ForbiddenError);
    await expect(fetch(`http://localhost:${site.port}/`)).rejects.toThrow('only ports 80 and 443 are open');
    await expect(fetch('http://wiki.test/')).rejects.toThrow(ForbiddenError);
  });
});

describe('safeFetch', () => {
  test('follows redirects on the same host with the headers of the caller, and reports where they led', async () => {
    const site = await siteWith({
      '/a': redirectTo('/b', 301),
      '/b': redirectTo('c', 307),
      '/c': (_, response) => void response.end('here'),
    });
    const response = await fetchFor([site])(`http://a.test:${site.port}/a`, { headers: { authorization: 'Bearer k' } });

    expect([response.status, await response.text(), response.url]).toEqual([
      ...[200, 'here', `http://a.test:${site.port}/c`],
    ]);
    expect(site.seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer k', 'Bearer k', 'Bearer k']);
  });

  test('gives no key, cookie or own header to another host', async () => {
    const other = await siteWith({ '/': (_, response) => void response.end('ok') });
    const site = await siteWith({ '/': redirectTo(`http://b.test:${other.port}/`) });
    const headers = { authorization: 'k', cookie: 'k', 'x-api-key': 'k', accept: 'text/html', 'user-agent': 'me' };
    await fetchFor([site, other])(`http://a.test:${site.port}/`, { headers });

    expect(site.seen[0]?.headers).toMatchObject(headers);
    expect(other.seen[0]?.headers).toMatchObject({ accept: 'text/html', 'user-agent': 'me' });
    expect(Object.values(other.seen[0]?.headers ?? {})).not.toContain('k');
  });

  test('sends a body again to the same host only, and turns a form into a look where that is meant', async () => {
    const site = await siteWith({
      '/same': redirectTo('/done', 308),
      '/look': redirectTo('/done', 303),
      '/away': redirectTo('http://b.test/', 307),
      '/done': (_, response) => void response.end('done'),
    });
    const fetch = fetchFor([site]);
    const post = (path: string): Promise<Response> =>
      fetch(`http://a.test:${site.port}${path}`, { method: 'post', body: new URLSearchParams({ q: 'a b' }) });
    await post('/same');
    await post('/look');

    await expect(post('/away')).rejects.toThrow('redirects a request with a body to another host');
    const done = site.seen.filter(({ url }) => url === '/done');
    expect(done.map(({ method, body, headers }) => [method, body, headers['content-type']])).toEqual([
      ['POST', 'q=a+b', 'application/x-www-form-urlencoded;charset=UTF-8'],
      ['GET', '', undefined],
    ]);
  });

  test('reads the bytes of a location as UTF-8', async () => {
    const site = await siteWith({
      '/': redirectTo('/bücher'),
      '/b%C3%BCcher': (_, response) => void response.end('2'),
    });

    expect(await (await fetchFor([site])(`http://a.test:${site.port}/`)).text()).toBe('2');
  });

  test('gives up after so many redirects', async () => {
    const site = await siteWith({ '/': redirectTo('/') });
    const fetch = fetchFor([site], { maxRedirects: 3 });

    await expect(fetch(`http://a.test:${site.port}/`)).rejects.toThrow('redirects too often');
    expect(site.seen).toHaveLength(4);
  });

  test.each([
    ['gzip', gzipSync(Buffer.alloc(50_000_000))],
    ['br', brotliCompressSync(Buffer.alloc(50_000_000))],
  ])('counts what a body in %s unpacks to', async (encoding, bomb) => {
    const site = await siteWith({
      '/bomb': (_, response) => void response.writeHead(200, { 'content-encoding': encoding }).end(bomb),
      '/fits': (_, response) =>
        void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('x'.repeat(100_000))),
    });
    const fetch = fetchFor([site]);

    expect(bomb.length).toBeLessThan(100_000);
    const response = await fetch(`http://a.test:${site.port}/bomb`);
    await expect(response.text()).rejects.toThrow(TooLargeError);
    const fitting = await fetch(`http://a.test:${site.port}/fits`);
    expect(fitting.headers.get('content-encoding')).toBeNull();
    expect(await fitting.text()).toHaveLength(100_000);
  });

  test('ends a body that never ends', async () => {
    const site = await siteWith({
      '/': (_, response) => {
        const pour = (): void => {
          while (!response.destroyed && response.write('x'.repeat(10_000)));
        };
        response.on('drain', pour);
        pour();
      },
    });
    const response = await fetchFor([site])(`http://a.test:${site.port}/`);

    await expect(response.text()).rejects.toThrow('is larger than 100000 bytes');
  });

  test.each(['at once', 'after a piece'])('closes the connection of a body that is not read, %s', async (when) => {
    let closed: () => void = () => undefined;
    const gone = new Promise<void>((resolve) => (closed = resolve));
    const site = await siteWith({
      '/': (_, response) => {
        response.once('close', closed);
        response.write('the first piece');
      },
    });
    const response = await fetchFor([site])(`http://a.test:${site.port}/`);
    const reader = response.body?.getReader();
    if (when === 'after a piece') await reader?.read();
    await reader?.cancel();

    await gone;
  });

  test('does not wait longer than it may, for the head or for the body', async () => {
    const site = await siteWith({
      '/silent': () => undefined,
      '/half': (_, response) => void response.write('half'),
    });
    const fetch = fetchFor([site], { timeoutMs: 300 });

    await expect(fetch(`http://a.test:${site.port}/silent`)).rejects.toThrow(DeadlineError);
    const half = await fetch(`http://a.test:${site.port}/half`);
    await expect(half.text()).rejects.toThrow(/did not answer within 300 ms/);
  });

  test('ends with the reason of the caller', async () => {
    const site = await siteWith({ '/silent': () => undefined });
    const controller = new AbortController();
    const reason = new Error('the run was cancelled');
    const waiting = fetchFor([site])(`http://a.test:${site.port}/silent`, { signal: controller.signal });
    controller.abort(reason);

    await expect(waiting).rejects.toBe(reason);
  });

  test('says what is wrong with a host that has no address, does not listen, or speaks no HTTP', async () => {
    const site = await siteWith({ '/': (_, response) => void response.socket?.end('SSH-2.0-x\r\n') });
    const { port } = site;
    const none = fetchFor([site], { resolve: () => Promise.reject(new Error('ENOTFOUND')) });

    await expect(none(`http://a.test:${port}/`)).rejects.toThrow(`a.test cannot be resolved`);
    const fetch = fetchFor([site]);
    await expect(fetch(`http://a.test:${port}/`)).rejects.toThrow(/does not answer as it should/);
    site.stop();
    await expect(fetch(`http://a.test:${port}/`)).rejects.toThrow(UnavailableError);
  });

  test('closes the connection after an answer', async () => {
    const site = await siteWith({ '/': (_, response) => void response.end('ok') });
    await (await fetchFor([site])(`http://a.test:${site.port}/`)).text();

    expect(site.seen[0]?.headers.connection).toBe('close');
  });
});
