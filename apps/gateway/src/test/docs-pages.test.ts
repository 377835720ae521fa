import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

describe('pages for people', () => {
  const fixture = useGateways();
  let gateway: OpenGateway;

  beforeAll(async () => {
    // Without a key in the requests below: the pages are public.
    gateway = await fixture.open({ env: { CARIBOU_API_KEYS: 'alice-key-1:alice' } });
  }, 30_000);

  const get = async (url: string, accept?: string) =>
    await gateway.app.inject({ url, headers: accept === undefined ? {} : { accept } });

  const linksIn = (html: string): string[] => [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, to = '']) => to);

  test('/docs loads only files of this server, and each of them is served with its type', async () => {
    const page = await get('/docs');
    const links = linksIn(page.body);
    const answers = await Promise.all(links.map((link) => get(`/${link}`)));

    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(links).toEqual(['docs/swagger-ui.css', 'openapi.json', 'docs/swagger-ui-bundle.js', 'docs/start.js']);
    expect(answers.map(({ statusCode, headers }) => [statusCode, headers['content-type']])).toEqual([
      [200, 'text/css; charset=utf-8'],
      [200, 'application/json; charset=utf-8'],
      [200, 'text/javascript; charset=utf-8'],
      [200, 'text/javascript; charset=utf-8'],
    ]);
    expect(answers[3]?.body).toContain("url: 'openapi.json'");
    expect(answers[2]?.headers).toMatchObject({
      'cache-control': 'public, max-age=3600',
      'x-content-type-options': 'nosniff',
    });
  });

  test('/docs may run scripts of this server and reach no other', async () => {
    const { headers, body } = await get('/docs');

    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(headers).toMatchObject({ 'x-frame-options': 'DENY', 'cache-control': 'no-store' });
    expect(body).not.toMatch(/<script>|https?:\/\//);
  });

  test.each(['/docs/x', '/docs/index.html', '/docs/..%2fpackage.json', '/docs/swagger-ui.css.map'])(
    '%s is not there',
    async (url) => {
      const answer = await get(url);

      expect(answer.statusCode).toBe(404);
      expect(answer.json()).toEqual({ detail: expect.stringContaining('does not know this path') as unknown });
    },
  );

  test('/ gives a browser a page whose links work', async () => {
    const page = await get('/', 'text/html,application/xhtml+xml,*/*;q=0.8');
    const links = linksIn(page.body);
    const statuses = await Promise.all(links.map(async (link) => (await get(`/${link}`)).statusCode));

    expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.headers).toMatchObject({
      vary: expect.stringContaining('Accept') as unknown,
      'x-frame-options': 'DENY',
    });
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    expect(links).toEqual(['docs', 'openapi.json', 'health', 'ready']);
    // Nothing but the gateway runs here, so it is not ready.
    expect(statuses).toEqual([200, 200, 200, 503]);
  });

  test.each([undefined, '*/*', 'application/json'])('/ is a 404 for a client that accepts %p', async (accept) => {
    const answer = await get('/', accept);

    expect(answer.statusCode).toBe(404);
    expect(answer.json()).toEqual({ detail: expect.stringContaining('does not know this path') as unknown });
  });
});
