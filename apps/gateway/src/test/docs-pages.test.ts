import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

describe('pages of the API', () => {
  const fixture = useGateways();
  let gateway: OpenGateway;

  beforeAll(async () => {
    // Without a key in the requests below: they are public.
    gateway = await fixture.open({ env: { CARIBOU_API_KEYS: 'alice-key-1:alice' } });
  }, 30_000);

  const get = async (url: string) => await gateway.app.inject({ url });

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
});
