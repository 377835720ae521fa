import { ForbiddenError, InvalidRequestError } from '@caribou/contracts';
import { FORBIDDEN_URLS, redirectTo, type Site, startSite } from '@caribou/testing';
import { mcpFetches } from './mcp-fetches.js';

describe('how servers of tools are asked', () => {
  let site: Site;
  let hosts: string;

  beforeEach(async () => {
    site = await startSite({ '/': (_, response) => void response.end('reached') });
    hosts = `127.0.0.1:${site.port}`;
  });
  afterEach(() => {
    site.stop();
  });

  test.each(FORBIDDEN_URLS)('%s is not asked for a server that was written over REST: %s', async (_, url) => {
    const failure = await mcpFetches({ apiHosts: [] })
      .apiFetch(url)
      .catch((error: unknown) => error);

    expect([InvalidRequestError, ForbiddenError]).toContainEqual((failure as Error).constructor);
  });

  test('a host that the operator names is, and only on its port', async () => {
    const { apiFetch } = mcpFetches({ apiHosts: [hosts] });

    expect(await (await apiFetch(`http://${hosts}/`)).text()).toBe('reached');
    await expect(apiFetch(`http://127.0.0.1:${site.port + 1}/`)).rejects.toThrow(ForbiddenError);
  });

  test('a redirect of such a host leads nowhere else', async () => {
    const elsewhere = await startSite({ '/': redirectTo(`http://${hosts}/`) });
    const { apiFetch } = mcpFetches({ apiHosts: [`127.0.0.1:${elsewhere.port}`] });

    await expect(apiFetch(`http://127.0.0.1:${elsewhere.port}/`)).rejects.toThrow(ForbiddenError);
    expect(site.seen).toEqual([]);
    elsewhere.stop();
  });

  test('the operator may write down any server', async () => {
    const { operatorFetch } = mcpFetches({ apiHosts: [] });

    expect(await (await operatorFetch(`http://${hosts}/`)).text()).toBe('reached');
  });
});
