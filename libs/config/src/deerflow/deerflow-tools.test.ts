import { join } from 'node:path';
import { faultsOf, keyOf } from '../testing/config-folders.js';
import { type DeerflowFolder, useDeerflowFolder } from '../testing/deerflow-folder.js';

let deerflow: DeerflowFolder;

useDeerflowFolder((opened) => {
  deerflow = opened;
});

describe('tools', () => {
  const all = ['ls', 'glob', 'grep', 'read_file', 'write_file', 'str_replace', 'bash', 'web_search', 'web_fetch'];
  const own =
    '{name: order_status, group: shop, use: "./shop.mjs#orderStatus", api_key: $SHOP_KEY, limits: {per_day: 5}}';

  test("of the operator's own have an absolute path, and options that are shown nowhere", () => {
    const config = deerflow.load(`tools: [${own}]\ntool_groups: [{name: shop}]`, { SHOP_KEY: 'secret-1' });

    const [tool] = config.tools.custom;
    expect(tool).toMatchObject({ key: 'tools[0]', name: 'order_status', group: 'shop' });
    expect(tool?.use).toBe(`${join(deerflow.folder, 'shop.mjs')}#orderStatus`);
    expect(tool?.options.reveal()).toEqual({ api_key: 'secret-1', limits: { per_day: 5 } });
    expect(JSON.stringify(config)).not.toContain('secret-1');
  });

  test.each([
    ['no list: all that are built in', '', all],
    ['only own ones: those besides', `tools: [${own}]`, all],
    ['an empty list: none', 'tools: []', []],
    ['own ones and some that are built in', `tools: [${own}, {name: bash}, {name: web_fetch}]`, ['bash', 'web_fetch']],
    ['only one without counterpart: none', 'tools: [{name: x, use: "a.b:c"}]', []],
  ])('%s', (_what, yaml, listed) => {
    const { hidden } = deerflow.load(yaml, { SHOP_KEY: 'k' }).tools;

    expect(all.filter((name) => !hidden.includes(name))).toEqual(listed);
  });

  test("the paths of DeerFlow's first version mean the same", () => {
    const { tools, web } = deerflow.load(
      `tools:
  - {name: sh, group: bash, use: 'src.sandbox.tools:bash_tool'}
  - {name: web_search, group: web, use: 'src.community.tavily.tools:web_search_tool', api_key: $TAVILY, max_results: 3}
  - {name: web_fetch, group: web, use: 'src.community.firecrawl.tools:web_fetch_tool', api_key: fc}
  - {name: image_search, group: web, use: 'src.community.image_search.tools:image_search_tool'}`,
      { TAVILY: 'tv' },
    );
    expect(tools.hidden).toEqual(['ls', 'glob', 'grep', 'read_file', 'write_file', 'str_replace']);
    expect(web.search).toMatchObject({ provider: 'tavily', maxResults: 3 });
    expect([web.search.apiKey?.reveal(), web.fetch.apiKey?.reveal()]).toEqual(['tv', 'fc']);
  });

  test('an unsupported search engine is one warning that lists the supported ones; a duplicate name is one, too', () => {
    const { warnings, tools } = deerflow.load(`tools:
  - {name: web_search, group: web, use: 'deerflow.community.exa.tools:web_search_tool', api_key: $GONE}
  - {name: bash, use: 'deerflow.sandbox.tools:bash_tool'}
  - {name: bash}`);
    expect(warnings).toEqual([
      expect.stringMatching(/^tools\[0\]: .*exa.* one of the providers duckduckgo, tavily, searxng, firecrawl/),
      expect.stringMatching(/^tools\[2\]: left out: an earlier entry is the tool bash/),
    ]);
    expect(tools.hidden).not.toContain('bash');
    expect(tools.hidden).toContain('web_search');
  });

  test("the section web takes precedence over the list, and SearXNG has DeerFlow's default URL", () => {
    const list = `tools: [{name: web_search, use: 'deerflow.community.searxng.tools:web_search_tool'}]`;
    expect(deerflow.load(list).web.search).toMatchObject({ provider: 'searxng', baseUrl: 'http://localhost:8088' });
    const own = deerflow.load(
      `${list}\nweb: {search: {provider: duckduckgo, max_results: 9}, images: {enabled: false}}`,
    );
    expect(own.web.search).toMatchObject({ provider: 'duckduckgo', maxResults: 9 });
    expect(own.web.images.enabled).toBe(false);
    expect(own.notices.map(keyOf)).toEqual(['tools']);
  });

  test('a section that names no provider adds to the list, and a server for a provider without one is a warning', () => {
    const list = `tools: [{name: web_fetch, use: 'deerflow.community.jina_ai.tools:web_fetch_tool', timeout: 7}]`;
    const joined = deerflow.load(`${list}\nweb: {fetch: {base_url: 'http://reader.lan:3000'}}`);
    expect(joined.web.fetch).toMatchObject({ provider: 'jina', baseUrl: 'http://reader.lan:3000', timeoutSeconds: 7 });
    const alone = deerflow.load(`web: {fetch: {base_url: 'http://reader.lan:3000'}}`);
    expect(alone.warnings).toEqual([
      expect.stringMatching(/^web\.fetch\.base_url: not used: .* set web\.fetch\.provider/),
    ]);
  });

  test('the switch of questions in guardrails is the one of clarification', () => {
    for (const yaml of ['guardrails: {clarification: false}', 'guardrails: {clarification: {enabled: false}}']) {
      expect(deerflow.load(yaml)).toMatchObject({ warnings: [], chain: { clarification: { enabled: false } } });
    }
    const { warnings, chain } = deerflow.load(
      'guardrails: {enabled: true, clarification: false}\nclarification: {enabled: true}',
    );
    expect([warnings.map(keyOf), chain.clarification.enabled]).toEqual([['guardrails'], true]);
  });

  test('subagents can be switched off', () => {
    expect(deerflow.load('subagents: {enabled: false}')).toMatchObject({
      warnings: [],
      chain: { subagents: { enabled: false } },
    });
    expect(deerflow.load('').chain.subagents.enabled).toBe(true);
  });

  test.each([
    ['tools: 7', 'tools: must be a list'],
    ['tools: [bash]', 'tools[0]: '],
    ['tools: [{name: "a b"}]', 'tools[0].name: '],
    ['tools: [{name: shell}]', 'tools[0].use: must be given: there is no built-in tool shell'],
    ['tools: [{name: a, use: "./a.mjs#a", key: $GONE}]', 'tools[0].key: the variable GONE is not set'],
    ['tool_groups: [web]', 'tool_groups[0]: '],
  ])('%s is a fault that names its key', (yaml, fault) => {
    expect(faultsOf(() => deerflow.load(yaml))).toEqual([expect.stringContaining(fault)]);
  });
});
