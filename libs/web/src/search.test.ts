import { loadConfig, Secret, type WebSearchConfig } from '@caribou/config';
import { UnavailableError } from '@caribou/contracts';
import type { ToolContext, ToolOutcome } from '@caribou/core';
import { createWebFetch } from '@caribou/egress';
import { fakeRun, json, redirectTo, type Site, type SiteRoute, startSite } from '@caribou/testing';
import { webSearchTool } from './web-search.js';

// A machine that has much else to do.
/** The model reads text from these tools, never parts. */
const textOf = ({ content }: ToolOutcome): string => (typeof content === 'string' ? content : '');

let site: Site | undefined;
afterEach(() => site?.stop());

const contextOf = (run = fakeRun()): ToolContext => ({ run, toolCallId: 'c1', key: 'r1:c1', state: { messages: [] } });

/** Calls the tool with a provider's API played by a local server. */
async function searched(
  config: Partial<WebSearchConfig>,
  routes: Readonly<Record<string, SiteRoute>>,
  query = 'reindeer & snow',
): Promise<ToolOutcome> {
  site = await startSite(routes);
  const defaults = loadConfig({ CARIBOU_CONFIG: '/dev/null' }, '/').web.search;
  const server = { baseUrl: `http://127.0.0.1:${site.port}/` };
  return webSearchTool({ ...defaults, ...server, ...config }, { reach: createWebFetch }).invoke({ query }, contextOf());
}

const asked = (): Readonly<Record<string, unknown>> => {
  const { method, url, headers, body } = site?.seen[0] ?? { method: '', url: '', headers: {}, body: '' };
  return { method, url, authorization: headers.authorization, agent: headers['user-agent'], body };
};
const AGENT = 'Mozilla/5.0 (compatible; Caribou)';
const apiKey = new Secret('key-1');
const html =
  (text: string, status = 200): SiteRoute =>
  (_, response) =>
    void response.writeHead(status, { 'content-type': 'text/html' }).end(text);
const silent: SiteRoute = () => undefined;

const tavily = { provider: 'tavily', apiKey, maxResults: 2 } as const;
const firecrawl = { provider: 'firecrawl', apiKey, maxResults: 2 } as const;
const searxng = { provider: 'searxng', maxResults: 2 } as const;
const duckduckgo = { provider: 'duckduckgo', maxResults: 2 } as const;

describe('web_search by tavily', () => {
  const results = [
    { title: 'One', url: 'https://one.test/', content: 'first\n  text', score: 0.9 },
    { title: 'Code', url: 'javascript:alert(1)', content: 'not a page' },
    { title: 'Two', url: 'https://two.test/', content: null },
    { title: 'Three', url: 'https://three.test/', content: 'one too many' },
  ];

  test('asks with the key and gives a list of titles, URLs and snippets', async () => {
    const outcome = await searched(tavily, { '/search': json({ query: 'x', results }) });

    expect(asked()).toEqual({
      method: 'POST',
      url: '/search',
      authorization: 'Bearer key-1',
      agent: AGENT,
      body: JSON.stringify({ query: 'reindeer & snow', max_results: 2 }),
    });
    expect(outcome.isError).toBeUndefined();
    expect(JSON.parse(textOf(outcome))).toEqual([
      { title: 'One', url: 'https://one.test/', snippet: 'first text' },
      { title: 'Two', url: 'https://two.test/', snippet: '' },
    ]);
  });

  test.each<[string, number, unknown, string]>([
    [
      'a wrong key',
      401,
      { detail: { error: 'Unauthorized: bad key' } },
      'tavily refused its API key (HTTP 401: Unauthorized: bad key)',
    ],
    [
      'a plan used up',
      432,
      { detail: { error: 'plan limit' } },
      'tavily takes no more calls for now (HTTP 432: plan limit)',
    ],
    ['a failure', 500, { error: 'oh\n no' }, 'tavily failed (HTTP 500: oh no)'],
    ['a failure without words', 502, 'x', 'tavily failed (HTTP 502)'],
  ])('reports %s', async (_, status, body, text) => {
    const outcome = await searched(tavily, { '/search': json(body, status) });

    expect(outcome).toEqual({ content: `Error: ${text}`, isError: true });
    expect(outcome.content).not.toContain('key-1');
  });

  test('without a key names the key, and sends no request', async () => {
    const outcome = await searched(
      {
        ...tavily,
        problem: 'the provider tavily has no API key: set TAVILY_API_KEY, or web.search.api_key in config.yaml',
      },
      {},
    );

    expect(outcome).toEqual({
      content:
        'Error: web_search cannot be used: the provider tavily has no API key: set TAVILY_API_KEY, or web.search.api_key in config.yaml',
      isError: true,
    });
    expect(site?.seen).toEqual([]);
  });
});

describe('web_search by firecrawl', () => {
  const found = [{ title: 'One', url: 'https://one.test/', description: 'first' }];

  test.each([
    ['version 2', { success: true, data: { web: found, news: [] } }],
    ['version 1', { success: true, data: found }],
  ])('gives the same list, of servers of %s', async (_, answer) => {
    const outcome = await searched(firecrawl, { '/v2/search': json(answer) });

    expect(asked()).toMatchObject({ method: 'POST', authorization: 'Bearer key-1' });
    expect(asked()['body']).toBe(JSON.stringify({ query: 'reindeer & snow', limit: 2 }));
    expect(JSON.parse(textOf(outcome))).toEqual([{ title: 'One', url: 'https://one.test/', snippet: 'first' }]);
  });

  test('reports what is wrong', async () => {
    const outcome = await searched(firecrawl, { '/v2/search': json({ success: false, error: 'no credits' }, 402) });

    expect(outcome).toEqual({
      content: 'Error: firecrawl takes no more calls for now (HTTP 402: no credits)',
      isError: true,
    });
  });
});

describe('web_search by searxng', () => {
  test('asks for JSON without a key and repeats the query in its answer', async () => {
    const results = [1, 2, 3].map((at) => ({ title: `T${at}`, url: `https://${at}.test/`, content: 'c', engine: 'x' }));
    const outcome = await searched({ ...searxng, safeSearch: 'off' }, { '/search': json({ results }) });

    expect(asked()).toMatchObject({
      method: 'GET',
      authorization: undefined,
      url: '/search?q=reindeer+%26+snow&format=json&categories=general&safesearch=0',
    });
    expect(JSON.parse(textOf(outcome))).toEqual({
      query: 'reindeer & snow',
      total_results: 2,
      results: [
        { title: 'T1', url: 'https://1.test/', content: 'c' },
        { title: 'T2', url: 'https://2.test/', content: 'c' },
      ],
    });
  });

  test('says how to configure its server when it returns no JSON', async () => {
    const outcome = await searched(searxng, { '/search': html('Forbidden', 403) });

    expect(outcome.content).toBe(
      'Error: searxng refused the request (HTTP 403): its settings.yml must list "json" under search.formats',
    );
  });

  test('that answers with something else is an error', async () => {
    const outcome = await searched(searxng, { '/search': html('<html>a page') });

    expect(outcome).toEqual({ content: 'Error: searxng gave an answer that is not understood', isError: true });
  });

  test('that leads into the network is not followed there', async () => {
    const outcome = await searched(searxng, { '/search': redirectTo('http://169.254.169.254/latest/') });

    expect(outcome.isError).toBe(true);
    expect(outcome.content).toMatch(/169\.254\.169\.254:80 leads to an address that may not be reached/);
  });
});

describe('web_search by duckduckgo', () => {
  const result = (href: string, title: string, text: string): string =>
    `<div class="result results_links web-result"><h2 class="result__title"><a rel="nofollow" class="result__a" href="${href}">${title}</a></h2>
     <a class="result__url" href="${href}"> shown.test </a><a class="result__snippet" href="${href}">${text}</a></div>`;
  const PAGE = `<html><body>${[
    result('https://duckduckgo.com/y.js?ad_domain=buy.test', 'Buy', 'an advertisement'),
    result(
      '//duckduckgo.com/l/?uddg=https%3A%2F%2Fone.test%2Fa%3Fb%3D1&amp;rut=x',
      'The <b>One</b> &amp; only',
      'first <b>bold</b> text',
    ),
    result('https://two.test/', 'Two', 'second'),
    result('https://three.test/', 'Three', 'third'),
  ].join('\n')}</body></html>`;

  test('sends the form of its page and reads the results out of it, without advertisements', async () => {
    const outcome = await searched({ ...duckduckgo, region: 'us-en', safeSearch: 'on' }, { '/html/': html(PAGE) });

    expect(asked()).toMatchObject({ method: 'POST', agent: AGENT, body: 'q=reindeer+%26+snow&b=&kl=us-en&kp=1' });
    expect(JSON.parse(textOf(outcome))).toEqual({
      query: 'reindeer & snow',
      total_results: 2,
      results: [
        { title: 'The One & only', url: 'https://one.test/a?b=1', content: 'first bold text' },
        { title: 'Two', url: 'https://two.test/', content: 'second' },
      ],
    });
  });

  test('that finds nothing says so in an answer', async () => {
    const outcome = await searched(duckduckgo, { '/html/': html('<div class="no-results">No results.</div>') });

    expect(outcome.isError).toBeUndefined();
    expect(JSON.parse(textOf(outcome))).toEqual({ error: 'No results found', query: 'reindeer & snow' });
  });

  test.each([
    ['by its status', html('<html>please wait', 202)],
    ['in its page', html('<form><div class="anomaly-modal__title">Select all squares</div></form>')],
  ])('that asks for a person, %s, is an error', async (_, route) => {
    const outcome = await searched(duckduckgo, { '/html/': route });

    expect(outcome.content).toMatch(/^Error: duckduckgo asks whether a person is there/);
    expect(outcome.isError).toBe(true);
  });
});

describe('web_search by any provider', () => {
  test.each([tavily, firecrawl, searxng, duckduckgo])(
    'ends in time when the server does not answer: $provider',
    async (provider) => {
      const routes = Object.fromEntries(['/search', '/v2/search', '/html/'].map((path) => [path, silent]));
      const outcome = await searched({ ...provider, timeoutSeconds: 0.3 }, routes);

      expect(outcome).toEqual({ content: 'Error: web_search got no answer within 0.3 seconds', isError: true });
      expect(site?.seen).toHaveLength(1);
    },
  );

  test('reaches no private host but the one it was given', async () => {
    site = await startSite({ '/search': json({ results: [] }) });
    const defaults = loadConfig({ CARIBOU_CONFIG: '/dev/null' }, '/').web.search;
    const elsewhere = { ...defaults, ...searxng, baseUrl: `http://127.0.0.1:${site.port}` };
    const tool = webSearchTool(elsewhere, { reach: () => createWebFetch([]) });

    expect((await tool.invoke({ query: 'x' }, contextOf())).content).toMatch(/may not be reached/);
    expect(site.seen).toEqual([]);
  });

  test('ends with the run that asked', async () => {
    const run = fakeRun();
    site = await startSite({ '/search': silent });
    const defaults = loadConfig({ CARIBOU_CONFIG: '/dev/null' }, '/').web.search;
    const config = { ...defaults, ...searxng, baseUrl: `http://127.0.0.1:${site.port}` };
    const call = webSearchTool(config, { reach: createWebFetch }).invoke({ query: 'x' }, contextOf(run));
    // Of a kind that would be an answer when the web gave it.
    const reason = new UnavailableError('cancelled');
    run.abort(reason);

    await expect(call).rejects.toBe(reason);
  });

  test('refuses a search for nothing, and says which field', async () => {
    const outcome = await searched(searxng, {}, '  ');

    expect(outcome.content).toMatch(/^Error: Invalid arguments for tool 'web_search': query: /);
  });
});
