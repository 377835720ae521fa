import { type Config, loadConfig } from '../index.js';
import { faultsOf, useConfigFolders } from '../testing/config-folders.js';

const folderWith = useConfigFolders();
const load = (yaml: string, env: Record<string, string> = {}): Config => loadConfig(env, folderWith(yaml));

describe('the section web', () => {
  test('offers all three tools without a key by default', () => {
    const { web, warnings } = load('');

    expect(web.search).toMatchObject({ enabled: true, provider: 'duckduckgo', maxResults: 5, timeoutSeconds: 10 });
    expect(web.fetch).toMatchObject({ enabled: true, provider: 'direct', maxChars: 4096, allow: [] });
    expect(web.images).toMatchObject({ enabled: true, provider: 'duckduckgo', maxResults: 5 });
    expect(warnings).toEqual([]);
  });

  test("takes a key from the file, else from the provider's variable, and shows neither", () => {
    const { web } = load('web: {search: {provider: tavily, api_key: $MINE}, fetch: {provider: jina}}', {
      MINE: 'mine-1',
      TAVILY_API_KEY: 'tvly-1',
      JINA_API_KEY: 'jina-1',
    });

    expect([web.search.apiKey?.reveal(), web.fetch.apiKey?.reveal()]).toEqual(['mine-1', 'jina-1']);
    expect(web.images).not.toHaveProperty('apiKey');
    expect(JSON.stringify(web)).not.toMatch(/mine-1|jina-1/);
  });

  test('a missing key is a warning with its variable and path, and a problem of the tool', () => {
    const { web, warnings } = load('web: {search: {provider: tavily}, fetch: {provider: firecrawl}}');

    expect(web.search.problem).toBe(
      'the provider tavily has no API key: set TAVILY_API_KEY, or web.search.api_key in config.yaml',
    );
    expect(warnings).toEqual([`web.search: ${web.search.problem}`, `web.fetch: ${web.fetch.problem}`]);
    expect(web.fetch.problem).toContain('FIRECRAWL_API_KEY');
  });

  test('requires no key for jina, a self-hosted server and a tool that is off', () => {
    const { web, warnings } = load(
      'web: {search: {provider: firecrawl, base_url: "http://fire:3002"}, fetch: {provider: jina}}',
    );
    const off = load('web: {search: {provider: tavily, enabled: false}}');

    expect([web.search.problem, web.fetch.problem]).toEqual([undefined, undefined]);
    expect([...warnings, ...off.warnings]).toEqual([]);
  });

  test.each([
    ['web: {search: {provider: searxng}}', 'web.search.base_url: the provider searxng needs the URL of its server'],
    ['web: {images: {provider: searxng}}', 'web.images.base_url: the provider searxng needs the URL of its server'],
    ['web: {search: {provider: bing}}', 'web.search.provider: '],
    ['web: {search: {max_results: 51}}', 'web.search.max_results: '],
    ['web: {search: {provider: tavily, api_key: "a b"}}', 'web.search.api_key: must be 1 to 512 printable'],
    ['web: {search: {provider: tavily, api_key: $NONE}}', 'web.search.api_key: the variable NONE is not set'],
    ['web: {fetch: {base_url: "http://me:secret@host"}}', 'web.fetch.base_url: must be an http(s) URL without user'],
    ['web: {fetch: {base_url: "ftp://host"}}', 'web.fetch.base_url: must be an http(s) URL'],
    ['web: {fetch: {allow: ["http://wiki.lan"]}}', 'web.fetch.allow[0]: must be a host'],
  ])('%s is a fault that names the key', (yaml, fault) => {
    expect(faultsOf(() => load(yaml))).toEqual([expect.stringContaining(fault)]);
  });

  test('warns about unknown keys', () => {
    expect(load('web: {search: {engine: x}, proxy: {}}').warnings).toEqual([
      expect.stringMatching(/^web\.search\.engine: not used/),
      expect.stringMatching(/^web\.proxy: not used/),
    ]);
  });
});
