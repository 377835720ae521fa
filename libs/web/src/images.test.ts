import { loadConfig, type WebImagesConfig } from '@caribou/config';
import type { ToolContext, ToolOutcome } from '@caribou/core';
import { createWebFetch } from '@caribou/egress';
import { fakeRun, json, type Site, type SiteRoute, startSite } from '@caribou/testing';
import { imageSearchTool } from './image-search.js';

// A machine that has much else to do.
/** The model reads text from these tools, never parts. */
const textOf = ({ content }: ToolOutcome): string => (typeof content === 'string' ? content : '');

let site: Site | undefined;
afterEach(() => site?.stop());

const context: ToolContext = { run: fakeRun(), toolCallId: 'c1', key: 'r1:c1', state: { messages: [] } };

async function searched(
  config: Partial<WebImagesConfig>,
  routes: Readonly<Record<string, SiteRoute>>,
  args: Readonly<Record<string, unknown>> = {},
): Promise<ToolOutcome> {
  site = await startSite(routes);
  const defaults = loadConfig({ CARIBOU_CONFIG: '/dev/null' }, '/').web.images;
  const server = { baseUrl: `http://127.0.0.1:${site.port}` };
  const tool = imageSearchTool({ ...defaults, ...server, ...config }, { reach: createWebFetch });
  return tool.invoke({ query: 'a red fox', ...args }, context);
}

const page =
  (text: string, status = 200): SiteRoute =>
  (_, response) =>
    void response.writeHead(status, { 'content-type': 'text/html' }).end(text);
const TOKEN = page('<script>var x; vqd="4-123_a"; more</script>');

const picture = (at: number) => ({
  title: `Fox ${at}`,
  url: `https://p${at}.test/`,
  image: `https://i${at}.test/fox.jpg`,
  thumbnail: `https://t${at}.test/fox.jpg`,
});

describe('image_search by duckduckgo', () => {
  test('asks for the token first, then for the pictures with their filters', async () => {
    const results = [{ ...picture(0), image: 'data:image/png;base64,x' }, picture(1), picture(2), picture(3)];
    const outcome = await searched(
      { maxResults: 4, region: 'us-en' },
      { '/': TOKEN, '/i.js': json({ results }) },
      { max_results: 2, size: 'Large', type_image: 'photo', layout: 'Wide' },
    );

    const asked = new URLSearchParams(site?.seen[1]?.url.split('?')[1]);
    expect(site?.seen[0]?.url).toBe('/?q=a+red+fox&iax=images&ia=images');
    expect(Object.fromEntries(asked)).toEqual({
      o: 'json',
      q: 'a red fox',
      l: 'us-en',
      vqd: '4-123_a',
      p: '1',
      f: ',size:Large,,type:photo,layout:Wide,',
    });
    expect(outcome.isError).toBeUndefined();
    expect(JSON.parse(textOf(outcome))).toEqual({
      query: 'a red fox',
      total_results: 2,
      usage_hint: expect.any(String),
      results: [1, 2].map((at) => ({
        title: `Fox ${at}`,
        image_url: `https://i${at}.test/fox.jpg`,
        thumbnail_url: `https://t${at}.test/fox.jpg`,
        source_url: `https://p${at}.test/`,
      })),
    });
  });

  test('gives no more than the configuration says', async () => {
    const results = [1, 2, 3].map(picture);
    const routes = { '/': TOKEN, '/i.js': json({ results }) };
    const outcome = await searched({ maxResults: 1 }, routes, { max_results: 40 });

    expect(JSON.parse(textOf(outcome))).toMatchObject({ total_results: 1 });
  });

  test('that finds nothing says so in an answer', async () => {
    const outcome = await searched({}, { '/': TOKEN, '/i.js': json({ results: [] }) });

    expect(outcome.isError).toBeUndefined();
    expect(JSON.parse(textOf(outcome))).toEqual({ error: 'No images found', query: 'a red fox' });
  });

  test.each<[string, Readonly<Record<string, SiteRoute>>, RegExp]>([
    ['gives no token', { '/': page('<html>') }, /gave no token/],
    ['asks for a person', { '/': page('<html>', 202) }, /asks whether a person is there/],
    ['refuses', { '/': TOKEN, '/i.js': page('no', 403) }, /duckduckgo refused the request \(HTTP 403\)/],
    ['answers with something else', { '/': TOKEN, '/i.js': page('If this error persists') }, /not understood/],
  ])('that %s is an error', async (_, routes, text) => {
    const outcome = await searched({}, routes);

    expect(outcome).toEqual({ content: expect.stringMatching(text), isError: true });
  });

  test('ends in time, both requests together', async () => {
    const outcome = await searched({ timeoutSeconds: 0.3 }, { '/': TOKEN, '/i.js': () => undefined });

    expect(outcome).toEqual({ content: 'Error: image_search got no answer within 0.3 seconds', isError: true });
    expect(site?.seen).toHaveLength(2);
  });
});

describe('image_search by searxng', () => {
  const searxng = { provider: 'searxng' } as const;

  test('asks its category of pictures', async () => {
    const results = [
      { title: 'Fox', url: 'https://p.test/', img_src: '//i.test/fox.jpg', thumbnail_src: 'https://t.test/fox.jpg' },
      { title: 'Bare', url: 'https://q.test/', img_src: 'https://i.test/bare.jpg' },
    ];
    const outcome = await searched({ ...searxng, safeSearch: 'on' }, { '/search': json({ results }) });

    expect(site?.seen[0]?.url).toBe('/search?q=a+red+fox&format=json&categories=images&safesearch=2');
    expect(JSON.parse(textOf(outcome))).toMatchObject({
      results: [
        { image_url: 'https://i.test/fox.jpg', thumbnail_url: 'https://t.test/fox.jpg', source_url: 'https://p.test/' },
        { image_url: 'https://i.test/bare.jpg', thumbnail_url: 'https://i.test/bare.jpg' },
      ],
    });
  });

  test('reports a failure, and ends in time', async () => {
    const failed = await searched(searxng, { '/search': json({ error: 'engines are down' }, 500) });
    site?.stop();
    const late = await searched({ ...searxng, timeoutSeconds: 0.3 }, { '/search': () => undefined });

    expect(failed.content).toBe('Error: searxng failed (HTTP 500: engines are down)');
    expect(late.content).toBe('Error: image_search got no answer within 0.3 seconds');
  });
});
