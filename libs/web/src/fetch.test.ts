import { loadConfig, Secret, type WebFetchConfig } from '@caribou/config';
import { InvalidRequestError } from '@caribou/contracts';
import type { ToolContext, ToolOutcome } from '@caribou/core';
import { createWebFetch } from '@caribou/egress';
import { fakeRun, FORBIDDEN_URLS, json, redirectTo, type Site, type SiteRoute, startSite } from '@caribou/testing';
import type { WebPorts } from './ports.js';
import { webFetchTool } from './web-fetch.js';

// A machine that has much else to do.
let site: Site | undefined;
afterEach(() => site?.stop());

const context: ToolContext = { run: fakeRun(), toolCallId: 'c1', key: 'r1:c1', state: { messages: [] } };
/** Pages that were to be made Markdown of: their kind, URL and bytes. */
const converted: string[] = [];
const pages: WebPorts['pages'] = {
  toMarkdown: (file, { kind, url }) => {
    const text = Buffer.from(file).toString();
    converted.push(`${kind} ${url} ${text}`);
    if (text === 'empty') return Promise.reject(new InvalidRequestError('the page has no text'));
    return Promise.resolve(`# Title\n\n${text}\n`);
  },
};
beforeEach(() => converted.splice(0));

const toolOf = (config: Partial<WebFetchConfig>) => {
  const defaults = loadConfig({ CARIBOU_CONFIG: '/dev/null' }, '/').web.fetch;
  return webFetchTool({ ...defaults, ...config }, { reach: createWebFetch, pages });
};
const invoke = (config: Partial<WebFetchConfig>, url: string): Promise<ToolOutcome> =>
  toolOf(config).invoke({ url }, context);

const page =
  (body: string | Uint8Array, type = 'text/html', status = 200): SiteRoute =>
  (_, response) =>
    void response.writeHead(status, { 'content-type': type }).end(body);
const apiKey = new Secret('key-1');
/** A public address: it is checked and not connected to, since the provider would do that. */
const PAGE_URL = 'https://93.184.215.14/article';

/** Calls the tool with a provider's API played by a local server. */
async function fetchedBy(
  config: Partial<WebFetchConfig>,
  routes: Readonly<Record<string, SiteRoute>>,
  url = PAGE_URL,
): Promise<ToolOutcome> {
  site = await startSite(routes);
  return invoke({ apiKey, baseUrl: `http://127.0.0.1:${site.port}`, ...config }, url);
}

/** Fetches a path of a local server that the operator has opened. */
async function fetchedDirectly(
  routes: Readonly<Record<string, SiteRoute>>,
  path = '/',
  config: Partial<WebFetchConfig> = {},
): Promise<ToolOutcome> {
  site = await startSite(routes);
  return invoke({ allow: [`127.0.0.1:${site.port}`], ...config }, `http://127.0.0.1:${site.port}${path}`);
}

describe('web_fetch, direct', () => {
  test('gives the article of a page, and says who asks', async () => {
    const outcome = await fetchedDirectly({ '/': redirectTo('/b'), '/b': page('<p>hi') });

    expect(outcome).toEqual({ content: '# Title\n\n<p>hi' });
    expect(converted).toEqual([`page http://127.0.0.1:${site?.port}/b <p>hi`]);
    expect(site?.seen[0]?.headers).toMatchObject({ 'user-agent': 'Mozilla/5.0 (compatible; Caribou)' });
  });

  test('gives the first 4096 characters, and no half of one', async () => {
    const text = `${'x'.repeat(4086)}😀${'y'.repeat(5000)}`;
    const { content } = await fetchedDirectly({ '/': page(text) });
    site?.stop();
    const { content: longer } = await fetchedDirectly({ '/': page(text) }, '/', { maxChars: 8000 });

    expect(content).toBe(`# Title\n\n${'x'.repeat(4086)}`);
    expect(longer).toHaveLength(8000);
  });

  test.each<[string, Uint8Array, string]>([
    ['the header', Buffer.from([0xe4]), 'text/html; charset=ISO-8859-1'],
    ['the page', Buffer.from('<meta charset="windows-1252">\xe4', 'latin1'), 'text/html'],
    ['a byte order mark', Buffer.from('\ufeff<p>ä', 'utf16le'), 'text/html; charset=utf-8'],
    ['nothing, or a name that nobody knows', Buffer.from('ä'), 'text/html; charset=klingon'],
  ])('reads the encoding that is declared by %s', async (_, body, type) => {
    await fetchedDirectly({ '/': page(body, type) });

    expect(converted[0]).toMatch(/ä$/);
  });

  test('gives other text as it is, and the pages of a PDF', async () => {
    const routes = { '/data': page('{"a":1}', 'application/json'), '/pdf': page('%PDF', 'application/pdf') };
    const data = await fetchedDirectly(routes, '/data');
    expect(data.content).toBe(`# http://127.0.0.1:${site?.port}/data\n\n{"a":1}`);
    site?.stop();
    await fetchedDirectly(routes, '/pdf');

    expect(converted).toEqual([`pdf http://127.0.0.1:${site?.port}/pdf %PDF`]);
  });

  test.each<[string, SiteRoute, RegExp]>([
    ['a page that is not there', page('gone', 'text/html', 404), /^Error: 127\.0\.0\.1:\d+ answered HTTP 404$/],
    ['a file without text', page('x', 'application/zip'), /^Error: the URL leads to a file of type application\/zip/],
    ['a page without text', page('empty'), /^Error: the page has no text$/],
    ['a page too large', page('x'.repeat(6 * 1024 * 1024)), /^Error: the answer of .* is larger than 5242880 bytes$/],
    ['a redirect to the metadata', redirectTo('http://169.254.169.254/latest/'), /169\.254\.169\.254:80 leads to/],
    ['a redirect to a file', redirectTo('file:///etc/passwd'), /^Error: the URL must begin with http/],
  ])('reports %s', async (_, route, text) => {
    expect(await fetchedDirectly({ '/': route })).toEqual({ content: expect.stringMatching(text), isError: true });
    expect(converted.filter((line) => !line.endsWith('empty'))).toEqual([]);
  });
});

describe('web_fetch by jina', () => {
  const jina = { provider: 'jina', timeoutSeconds: 7 } as const;

  test('asks for HTML and makes the article of it', async () => {
    const outcome = await fetchedBy(jina, { '/': page('<p>hi') });

    expect(outcome).toEqual({ content: '# Title\n\n<p>hi' });
    expect(site?.seen[0]).toMatchObject({ method: 'POST', url: '/', body: JSON.stringify({ url: PAGE_URL }) });
    expect(site?.seen[0]?.headers).toMatchObject({
      authorization: 'Bearer key-1',
      'x-return-format': 'html',
      'x-timeout': '7',
    });
    expect(converted).toEqual([`page ${PAGE_URL} <p>hi`]);
  });

  test('needs no key', async () => {
    site = await startSite({ '/': page('<p>hi') });
    await invoke({ ...jina, baseUrl: `http://127.0.0.1:${site.port}` }, PAGE_URL);

    expect(site.seen[0]?.headers.authorization).toBeUndefined();
  });

  test.each<[string, SiteRoute, string]>([
    [
      'a refusal',
      json({ message: 'Too many requests' }, 429),
      'jina takes no more calls for now (HTTP 429: Too many requests)',
    ],
    ['a failure', json({}, 503), 'jina failed (HTTP 503)'],
    ['an empty page', page('  '), 'jina gave an empty page'],
  ])('reports %s', async (_, route, text) => {
    expect(await fetchedBy(jina, { '/': route })).toEqual({ content: `Error: ${text}`, isError: true });
  });
});

describe('web_fetch by tavily', () => {
  const tavily = { provider: 'tavily' } as const;

  test('gives the text under its title', async () => {
    const results = [{ url: PAGE_URL, title: 'The\n title', raw_content: `${'x'.repeat(4096)}y` }];
    const outcome = await fetchedBy(tavily, { '/extract': json({ results, failed_results: [] }) });

    expect(outcome).toEqual({ content: `# The title\n\n${'x'.repeat(4096)}` });
    expect(site?.seen[0]).toMatchObject({ method: 'POST', body: JSON.stringify({ urls: [PAGE_URL] }) });
    expect(site?.seen[0]?.headers.authorization).toBe('Bearer key-1');
  });

  test.each<[string, SiteRoute, string]>([
    ['a page that failed', json({ results: [], failed_results: [{ url: 'x', error: 'it is gone' }] }), 'it is gone'],
    ['no page', json({ results: [] }), 'No results found'],
    ['a wrong key', json({ detail: { error: 'bad key' } }, 401), 'tavily refused its API key (HTTP 401: bad key)'],
  ])('reports %s', async (_, route, text) => {
    expect(await fetchedBy(tavily, { '/extract': route })).toEqual({ content: `Error: ${text}`, isError: true });
  });
});

describe('web_fetch by firecrawl', () => {
  const firecrawl = { provider: 'firecrawl', timeoutSeconds: 7 } as const;

  test('gives the Markdown under its title', async () => {
    const data = { markdown: 'text', metadata: { title: 'T', sourceURL: PAGE_URL } };
    const outcome = await fetchedBy(firecrawl, { '/v2/scrape': json({ success: true, data }) });

    expect(outcome).toEqual({ content: '# T\n\ntext' });
    expect(site?.seen[0]).toMatchObject({
      body: JSON.stringify({ url: PAGE_URL, formats: ['markdown'], timeout: 7000 }),
    });
  });

  test.each<[string, SiteRoute, string]>([
    ['no content', json({ success: true, data: { markdown: '' } }), 'No content found'],
    ['a failure', json({ success: false, error: 'it timed out' }, 408), 'firecrawl failed (HTTP 408: it timed out)'],
  ])('reports %s', async (_, route, text) => {
    expect(await fetchedBy(firecrawl, { '/v2/scrape': route })).toEqual({ content: `Error: ${text}`, isError: true });
  });
});

describe('web_fetch by any provider', () => {
  const providers = ['direct', 'jina', 'tavily', 'firecrawl'] as const;

  test.each(providers)('fetches no forbidden URL, directly or by the provider: %s', async (provider) => {
    site = await startSite({});
    const tool = toolOf({ provider, apiKey, baseUrl: `http://127.0.0.1:${site.port}` });
    for (const [what, url] of FORBIDDEN_URLS) {
      const { content, isError } = await tool.invoke({ url }, context);
      expect([what, content, isError]).toEqual([
        what,
        expect.stringMatching(/^Error: .*(URL|may not be reached)/),
        true,
      ]);
    }
    // The provider's own server is open to requests of the API alone.
    const own = await tool.invoke({ url: `http://127.0.0.1:${site.port}/` }, context);
    expect([own.isError, site.seen]).toEqual([true, []]);
  });

  test('ends in time when the server does not answer', async () => {
    const silent: SiteRoute = () => undefined;
    const quiet = await startSite({ '/': silent, '/extract': silent, '/v2/scrape': silent });
    site = quiet;
    const base = `http://127.0.0.1:${quiet.port}`;
    const outcomes = await Promise.all(
      providers.map((provider) =>
        provider === 'direct'
          ? invoke({ provider, allow: [`127.0.0.1:${quiet.port}`], timeoutSeconds: 1 }, `${base}/`)
          : invoke({ provider, apiKey, baseUrl: base, timeoutSeconds: 1 }, PAGE_URL),
      ),
    );

    const late = { content: 'Error: web_fetch got no answer within 6 seconds', isError: true };
    expect(outcomes).toEqual([late, late, late, late]);
    expect(quiet.seen).toHaveLength(4);
  });

  test('says which key is missing', async () => {
    const problem = 'the provider tavily has no API key: set TAVILY_API_KEY, or web.fetch.api_key in config.yaml';

    expect(await invoke({ provider: 'tavily', problem }, PAGE_URL)).toEqual({
      content: `Error: web_fetch cannot be used: ${problem}`,
      isError: true,
    });
  });

  test('marks what it brings in as written by strangers', () => {
    expect(toolOf({})).toMatchObject({ name: 'web_fetch', remote: true, group: 'web' });
  });
});
