import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { ConsoleFiles } from '@caribou/page-files';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

const BROWSER = 'text/html,application/xhtml+xml,*/*;q=0.8';
const INDEX =
  '<html><head><link rel="icon" href="./icon.svg"><script type="module" src="./assets/a-1.js"></script></head></html>';
const SCRIPT = 'start();'.repeat(50);

describe('the console', () => {
  const fixture = useGateways();
  let gateway: OpenGateway;
  let withoutConsole: OpenGateway;

  beforeAll(async () => {
    const folder = join(fixture.folder, 'console');
    mkdirSync(join(folder, 'assets'), { recursive: true });
    writeFileSync(join(folder, 'index.html'), INDEX);
    writeFileSync(join(folder, 'index.html.br'), brotliCompressSync(INDEX));
    writeFileSync(join(folder, 'icon.svg'), '<svg/>');
    writeFileSync(join(folder, 'assets/a-1.js'), SCRIPT);
    writeFileSync(join(folder, 'assets/a-1.js.br'), brotliCompressSync(SCRIPT));
    writeFileSync(join(folder, 'assets/a-1.js.gz'), gzipSync(SCRIPT));
    // Without a key in the requests below: the files are public.
    const env = { CARIBOU_API_KEYS: 'alice-key-1:alice' };
    gateway = await fixture.open({ env, replaced: { consoleFiles: new ConsoleFiles(folder) } });
    withoutConsole = await fixture.open({ env, replaced: { consoleFiles: new ConsoleFiles(join(folder, 'none')) } });
  }, 30_000);

  const get = async (url: string, headers: Readonly<Record<string, string>> = {}, from = gateway) =>
    await from.app.inject({ url, headers });
  const getPage = async (headers: Readonly<Record<string, string>> = {}, from = gateway) =>
    await get('/', { accept: BROWSER, ...headers }, from);
  const unknownPath = { detail: expect.stringContaining('does not know this path') as unknown };

  test('/ is the console for a browser, under a policy that lets it reach this server only', async () => {
    const { statusCode, headers, body } = await getPage();

    expect([statusCode, body]).toEqual([200, INDEX]);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; " +
        "media-src 'self' blob:; font-src 'self'; connect-src 'self'; frame-src 'self' blob:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'permissions-policy': expect.stringContaining('camera=()') as unknown,
      'cache-control': 'no-cache',
    });
    expect(headers['vary']).toMatch(/\bAccept\b.*\bAccept-Encoding\b/);
  });

  test.each([undefined, '*/*', 'application/json'])('/ is a 404 for a client that accepts %p', async (accept) => {
    const answer = await get('/', accept === undefined ? {} : { accept });

    expect([answer.statusCode, answer.json()]).toEqual([404, unknownPath]);
  });

  test('a browser that has the page gets 304, also for one of several tags, and the page after a change', async () => {
    const { headers } = await getPage();
    const etag = String(headers['etag']);
    const known = await getPage({ 'if-none-match': `"other", ${etag}` });
    const changed = await getPage({ 'if-none-match': 'W/"other"' });

    expect(etag).toMatch(/^W\/"[\w-]{22}"$/);
    expect([known.statusCode, known.body, known.headers['etag']]).toEqual([304, '', etag]);
    expect(known.headers['content-security-policy']).toBe(headers['content-security-policy']);
    expect(changed.statusCode).toBe(200);
  });

  test('files are sent in the coding that the browser accepts, to be stored for ever', async () => {
    const brotli = await get('/assets/a-1.js', { 'accept-encoding': 'gzip, deflate, br' });
    const gzipped = await get('/assets/a-1.js', { 'accept-encoding': 'gzip' });
    const plain = await get('/assets/a-1.js');

    expect(brotliDecompressSync(brotli.rawPayload).toString()).toBe(SCRIPT);
    expect(gunzipSync(gzipped.rawPayload).toString()).toBe(SCRIPT);
    expect(plain.body).toBe(SCRIPT);
    const codings = [brotli, gzipped, plain].map(({ headers }) => headers['content-encoding']);
    expect(codings).toEqual(['br', 'gzip', undefined]);
    for (const { headers } of [brotli, gzipped, plain])
      expect(headers).toMatchObject({
        'content-type': 'text/javascript; charset=utf-8',
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
        vary: expect.stringContaining('Accept-Encoding') as unknown,
      });
  });

  test('the page names files that are there', async () => {
    const { body } = await getPage();
    const links = [...body.matchAll(/(?:href|src)="\.\/([^"]+)"/g)].map(([, to = '']) => to);
    const types = await Promise.all(links.map(async (link) => (await get(`/${link}`)).headers['content-type']));

    expect(types).toEqual(['image/svg+xml', 'text/javascript; charset=utf-8']);
  });

  test.each([
    '/assets/none.js',
    '/assets/a-1.js.br',
    '/assets/..%2findex.html',
    '/assets/..%2f..%2fpackage.json',
    '/assets/%2fetc%2fpasswd',
    '/assets/a-1.js%00',
    `/assets/${'x'.repeat(10_000)}`,
  ])('%s is not there', async (url) => {
    const answer = await get(url);

    expect([answer.statusCode, answer.json()]).toEqual([404, unknownPath]);
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  test('behind a proxy that removes a prefix, the addresses in the page begin with it', async () => {
    const page = await getPage({ 'x-forwarded-prefix': '/tools/caribou/', 'accept-encoding': 'br' });
    const plain = await getPage();

    expect(page.body).toBe(INDEX.replaceAll('"./', '"/tools/caribou/'));
    expect(page.headers['etag']).not.toBe(plain.headers['etag']);
    expect(page.headers['vary']).toContain('X-Forwarded-Prefix');
  });

  test.each(['//evil.example', 'https://evil.example', '/a"><script>', '/', '', `/${'a'.repeat(300)}`])(
    'a prefix %p is ignored',
    async (prefix) => {
      expect((await getPage({ 'x-forwarded-prefix': prefix })).body).toBe(INDEX);
    },
  );

  test('a gateway whose console was not built says so, with links that work', async () => {
    const { statusCode, body, headers } = await getPage({}, withoutConsole);
    const links = [...body.matchAll(/href="([^"]+)"/g)].map(([, to = '']) => to);
    const statuses = await Promise.all(
      links.map(async (link) => (await get(`/${link}`, {}, withoutConsole)).statusCode),
    );

    expect([statusCode, body]).toEqual([200, expect.stringContaining('its console was not built')]);
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(links).toEqual(['docs', 'openapi.json', 'health', 'ready']);
    // Nothing but the gateway runs here, so it is not ready.
    expect(statuses).toEqual([200, 200, 200, 503]);
    expect((await get('/assets/a-1.js', {}, withoutConsole)).statusCode).toBe(404);
  });
});
