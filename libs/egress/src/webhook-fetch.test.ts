import { ForbiddenError, InvalidRequestError, UnavailableError } from '@caribou/contracts';
import { type Site, startSite, redirectTo } from '@caribou/testing';
import { createWebhookCheck, createWebhookFetch } from './webhook-fetch.js';

let site: Site;

beforeAll(async () => {
  site = await startSite({ '/ok': (_, response) => void response.end('seen'), '/moved': redirectTo('/ok', 307) });
});
afterAll(() => site.stop());

const post = { method: 'POST', body: '{}' };

describe('createWebhookFetch', () => {
  test('a name that resolves to this machine is not connected to', async () => {
    const fetch = createWebhookFetch({ allow: [], timeoutMs: 5_000 });

    await expect(fetch('http://localhost/ok', post)).rejects.toThrow(ForbiddenError);
    expect(site.seen).toEqual([]);
  });

  test('a host that is allowed is reached, and a redirect is not followed', async () => {
    const fetch = createWebhookFetch({ allow: [`localhost:${site.port}`], timeoutMs: 5_000 });

    expect((await fetch(`http://localhost:${site.port}/ok`, post)).status).toBe(200);
    await expect(fetch(`http://localhost:${site.port}/moved`, post)).rejects.toThrow(UnavailableError);
    expect(site.seen.map(({ url }) => url)).toEqual(['/ok', '/moved']);
  });
});

describe('createWebhookCheck', () => {
  test.each(['http://127.0.0.1/', 'http://0x7f.1/', 'http://[fd00::1]/', 'http://localhost/', 'http://a.localhost/'])(
    '%s may not be named',
    (url) => {
      expect(() => createWebhookCheck([])(url)).toThrow(ForbiddenError);
    },
  );

  test('what the operator allows, and public hosts, may be named; what is no URL may not', () => {
    const check = createWebhookCheck(['localhost:3000', '10.1.2.3']);

    expect(() => check('http://localhost:3000/hook')).not.toThrow();
    expect(() => check('http://10.1.2.3/hook')).not.toThrow();
    expect(() => check('https://hooks.example.org/hook')).not.toThrow();
    expect(() => check('http://localhost/hook')).toThrow(ForbiddenError);
    expect(() => check('hook')).toThrow(InvalidRequestError);
  });

  test('metadata addresses may not be named, whatever is allowed', () => {
    expect(() => createWebhookCheck(['169.254.169.254'])('http://169.254.169.254/')).toThrow(ForbiddenError);
  });
});
