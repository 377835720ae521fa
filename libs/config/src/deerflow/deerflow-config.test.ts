import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Config, ConfigError, loadConfig } from '../index.js';

const root = join(__dirname, '../../../..');
const env = { VLLM_API_KEY: 'key-1', VLLM_BASE_URL: 'http://127.0.0.1:9/v1' };

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'caribou-deerflow-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function load(yaml: string, more: Readonly<Record<string, string>> = {}): Config {
  writeFileSync(join(folder, 'config.yaml'), yaml);
  return loadConfig({ ...env, ...more }, folder);
}
const keysOf = (lines: readonly string[]): readonly string[] => lines.map((line) => line.slice(0, line.indexOf(': ')));

function faultsOf(yaml: string): readonly string[] {
  try {
    load(yaml);
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}

describe("a configuration in DeerFlow's format", () => {
  const config = loadConfig({ ...env, CARIBOU_CONFIG: join(root, 'e2e/api/deerflow/deerflow.yaml') }, '/');

  test('has one warning for each of the three tools without a counterpart, which says what to do, and no other', () => {
    expect(config.warnings).toEqual([
      expect.stringMatching(/^tools\[2\]: the tool web_capture is left out: .*docs\/custom-tool\.md/),
      expect.stringMatching(/^tools\[3\]: the tool browser_navigate is left out: .*MCP server/),
      expect.stringMatching(
        /^tools\[4\]: the tool crm_lookup is left out: my_company\.tools:crm_lookup_tool is Python/,
      ),
    ]);
    expect(config.problems).toEqual([]);
  });

  test('has its five models, each at its provider', () => {
    expect(config.models.map(({ name, baseUrl }) => [name, baseUrl])).toEqual([
      ['qwen3-32b-vllm', 'http://127.0.0.1:9/v1'],
      ['gpt-4', 'https://api.openai.com/v1'],
      ['deepseek-v4', 'https://api.deepseek.com/v1'],
      ['kimi-k2.5', 'https://api.moonshot.cn/v1'],
      ['minimax-m3', 'https://api.minimax.io/v1'],
    ]);
    expect(config.models[0]).toMatchObject({ model: 'Qwen/Qwen3-32B', maxInputTokens: 32_768, sendReasoning: true });
    expect(config.models[1]).toMatchObject({ sendReasoning: false, body: {} });
    expect(config.models[2]?.whenThinkingDisabled).toEqual({ extra_body: { thinking: { type: 'disabled' } } });
  });

  test('has the built-in tools that it lists, and its web providers', () => {
    expect(config.tools.hidden).toEqual(['glob', 'str_replace', 'image_search']);
    expect(config.tools.groups).toMatchObject({ web_search: 'web', grep: 'file:read', bash: 'bash' });
    expect(config.web.search).toMatchObject({ provider: 'duckduckgo', maxResults: 7, safeSearch: 'off' });
    expect(config.web.fetch).toMatchObject({ provider: 'jina', timeoutSeconds: 20 });
  });

  test('has times and limits in the units of this product', () => {
    expect(config.sandbox).toMatchObject({ idleMs: 300_000, driver: 'auto' });
    expect(config.sandbox.limits.commandTimeoutMs).toBe(120_000);
    expect(config.runner.maxTurnsCap).toBe(500);
  });

  test('has a notice for each setting that is applied in another way', () => {
    expect(keysOf(config.notices)).toEqual(
      expect.arrayContaining([
        'config_version',
        'database',
        'sandbox.use',
        'sandbox.replicas',
        'models[0]',
        'tools[7]',
      ]),
    );
    expect(config.notices.join('\n')).not.toContain('scheduler');
    expect(config.notices.join('\n')).not.toContain('key-1');
  });
});

describe('models', () => {
  test('a class of another protocol is one warning that names an endpoint, and what used it falls back', () => {
    const config = load(`
models:
  - {name: claude, use: 'langchain_anthropic:ChatAnthropic', model: c, api_key: $GONE, default_request_timeout: 9, base_url: 'https://api.anthropic.com'}
  - {name: local, use: 'langchain_ollama:ChatOllama', base_url: 'http://localhost:11434', num_predict: 9}
  - {name: cloud, use: 'langchain_aws:ChatBedrock'}
  - {name: main, use: 'langchain_openai:ChatOpenAI', openai_api_key: sk-1, openai_api_base: 'https://x.example/v1', model_name: m}
title: {model_name: claude}
summarization: {model_name: local}
subagents: {agents: {bash: {model: claude}}, custom_agents: {own: {description: d, system_prompt: s, model: cloud}}}
`);
    expect(config.warnings).toEqual([
      expect.stringMatching(/^models\[0\]: the model claude is left out: .*https:\/\/api\.anthropic\.com\/v1\/$/),
      expect.stringMatching(/^models\[1\]: the model local is left out: .*11434\/v1$/),
      expect.stringMatching(/^models\[2\]: the model cloud is left out: .*gateway/),
    ]);
    expect(config.models).toMatchObject([{ name: 'main', model: 'm', baseUrl: 'https://x.example/v1', body: {} }]);
    expect(config.models[0]?.apiKey?.reveal()).toBe('sk-1');
    expect([config.title.modelName, config.chain.summarization.model_name]).toEqual([null, null]);
    expect(config.chain.subagents.agents['bash']?.model).toBe('inherit');
    expect(config.chain.subagents.custom_agents['own']?.model).toBe('inherit');
  });

  test('an unknown class is called at its base_url with a notice, and left out without one', () => {
    const config = load(`
models:
  - {name: a, use: 'my_models:MyChat', base_url: 'http://127.0.0.1:9/v1'}
  - {name: b, use: 'my_models:MyChat'}
`);
    expect(config.models.map(({ name }) => name)).toEqual(['a']);
    expect(keysOf(config.notices)).toEqual(['models[0].use']);
    expect(keysOf(config.warnings)).toEqual(['models[1]']);
  });

  test("a provider's key of the environment goes to that provider only", () => {
    const yaml = `
models:
  - {name: a, use: 'langchain_deepseek:ChatDeepSeek'}
  - {name: b, use: 'langchain_deepseek:ChatDeepSeek', api_base: 'https://elsewhere.example/v1'}
`;
    const { models } = load(yaml, { DEEPSEEK_API_KEY: 'sk-deep', OPENAI_API_KEY: 'sk-open' });
    expect(models.map(({ apiKey }) => apiKey?.reveal())).toEqual(['sk-deep', undefined]);
    expect(load(yaml).problems).toEqual([expect.stringMatching(/^model "a" has no API key: set DEEPSEEK_API_KEY/)]);
  });
});

describe('tools', () => {
  const all = ['ls', 'glob', 'grep', 'read_file', 'write_file', 'str_replace', 'bash', 'web_search', 'web_fetch'];
  const own =
    '{name: order_status, group: shop, use: "./shop.mjs#orderStatus", api_key: $SHOP_KEY, limits: {per_day: 5}}';

  test("of the operator's own have an absolute path, and options that are shown nowhere", () => {
    const config = load(`tools: [${own}]\ntool_groups: [{name: shop}]`, { SHOP_KEY: 'secret-1' });

    const [tool] = config.tools.custom;
    expect(tool).toMatchObject({ key: 'tools[0]', name: 'order_status', group: 'shop' });
    expect(tool?.use).toBe(`${join(folder, 'shop.mjs')}#orderStatus`);
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
    const { hidden } = load(yaml, { SHOP_KEY: 'k' }).tools;

    expect(all.filter((name) => !hidden.includes(name))).toEqual(listed);
  });

  test("the paths of DeerFlow's first version mean the same", () => {
    const { tools, web } = load(
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
    const { warnings, tools } = load(`tools:
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
    expect(load(list).web.search).toMatchObject({ provider: 'searxng', baseUrl: 'http://localhost:8088' });
    const own = load(`${list}\nweb: {search: {provider: duckduckgo, max_results: 9}, images: {enabled: false}}`);
    expect(own.web.search).toMatchObject({ provider: 'duckduckgo', maxResults: 9 });
    expect(own.web.images.enabled).toBe(false);
    expect(keysOf(own.notices)).toEqual(['tools']);
  });

  test('a section that names no provider adds to the list, and a server for a provider without one is a warning', () => {
    const list = `tools: [{name: web_fetch, use: 'deerflow.community.jina_ai.tools:web_fetch_tool', timeout: 7}]`;
    const joined = load(`${list}\nweb: {fetch: {base_url: 'http://reader.lan:3000'}}`);
    expect(joined.web.fetch).toMatchObject({ provider: 'jina', baseUrl: 'http://reader.lan:3000', timeoutSeconds: 7 });
    const alone = load(`web: {fetch: {base_url: 'http://reader.lan:3000'}}`);
    expect(alone.warnings).toEqual([
      expect.stringMatching(/^web\.fetch\.base_url: not used: .* set web\.fetch\.provider/),
    ]);
  });

  test('the switch of questions in guardrails is the one of clarification', () => {
    for (const yaml of ['guardrails: {clarification: false}', 'guardrails: {clarification: {enabled: false}}']) {
      expect(load(yaml)).toMatchObject({ warnings: [], chain: { clarification: { enabled: false } } });
    }
    const { warnings, chain } = load(
      'guardrails: {enabled: true, clarification: false}\nclarification: {enabled: true}',
    );
    expect([keysOf(warnings), chain.clarification.enabled]).toEqual([['guardrails'], true]);
  });

  test('subagents can be switched off', () => {
    expect(load('subagents: {enabled: false}')).toMatchObject({
      warnings: [],
      chain: { subagents: { enabled: false } },
    });
    expect(load('').chain.subagents.enabled).toBe(true);
  });

  test.each([
    ['tools: 7', 'tools: must be a list'],
    ['tools: [bash]', 'tools[0]: '],
    ['tools: [{name: "a b"}]', 'tools[0].name: '],
    ['tools: [{name: shell}]', 'tools[0].use: must be given: there is no built-in tool shell'],
    ['tools: [{name: a, use: "./a.mjs#a", key: $GONE}]', 'tools[0].key: the variable GONE is not set'],
    ['tool_groups: [web]', 'tool_groups[0]: '],
  ])('%s is a fault that names its key', (yaml, fault) => {
    expect(faultsOf(yaml)).toEqual([expect.stringContaining(fault)]);
  });
});

describe('keys without a counterpart', () => {
  test('are warned about only while they are on', () => {
    expect(load('guardrails: {enabled: false}\nchannels: {}\nscheduler: null\nsandbox: {mounts: []}').warnings).toEqual(
      [],
    );
    const { warnings } = load(
      'guardrails: {enabled: true}\nchannels: {slack: {enabled: true}}\nsandbox: {mounts: [{host_path: /x}], colour: red}\nmodles: []',
    );
    expect([...keysOf(warnings)].sort()).toEqual([
      'channels',
      'guardrails',
      'modles',
      'sandbox.colour',
      'sandbox.mounts',
    ]);
    for (const line of warnings) expect(line).toMatch(/: not used: there is no (counterpart|such key).*[;:] ./);
  });

  test('a Python middleware is one warning, and a JavaScript one beside it is loaded', () => {
    const { warnings, chain } = load('extensions: {middlewares: ["my.mw:Guard", "./audit.mjs#audit"]}');
    expect(keysOf(warnings)).toEqual(['extensions.middlewares[0]']);
    expect(chain.extensions.middlewares).toEqual([{ use: `${join(folder, 'audit.mjs')}#audit`, options: {} }]);
  });

  test('a key of this product takes precedence over its counterpart', () => {
    const { sandbox } = load('sandbox: {idle_timeout: 5, idle_ms: 9000, bash_command_timeout: 0, limits: {pids: 20}}');
    expect(sandbox).toMatchObject({ idleMs: 9_000, limits: { pids: 20, commandTimeoutMs: 100 } });
    expect(load('sandbox: {idle_timeout: 0}').sandbox.idleMs).toBe(604_800_000);
    expect(faultsOf('max_recursion_limit: 5\nrunner: 7')).toEqual([expect.stringMatching(/^runner: /)]);
  });

  test('settings of its memory count as keys of memory', () => {
    expect(load('memory: {enabled: true, backend_config: {enabled: false}}').chain.memory.enabled).toBe(true);
    expect(load('memory: {manager_class: deermem, backend_config: {enabled: false}}').chain.memory.enabled).toBe(false);
  });
});

describe('extensions_config.json', () => {
  const warningsOf = (text: string): readonly string[] => {
    writeFileSync(join(folder, 'extensions_config.json'), text);
    return load('').warnings;
  };

  test('loads, and what has no counterpart is one warning each', () => {
    expect(
      warningsOf('{"mcpServers": {"a": {"type": "stdio", "command": "npx"}}, "skills": {"x": {"enabled": true}}}'),
    ).toEqual([]);
    expect(
      warningsOf('{"middlewares": ["my.mw:A", "my.mw:B"], "mcpInterceptors": ["my.auth:build"], "servers": {}}'),
    ).toEqual([
      expect.stringMatching(/^extensions_config\.json: middlewares\[0\]: my\.mw:A is Python and not loaded; write it/),
      expect.stringMatching(/^extensions_config\.json: middlewares\[1\]: my\.mw:B/),
      expect.stringMatching(/^extensions_config\.json: mcpInterceptors: .*headers or oauth/),
      expect.stringMatching(/^extensions_config\.json: servers: not used: there is no such key/),
    ]);
    expect(warningsOf('{"middlewares": [], "mcpInterceptors": []}')).toEqual([]);
  });

  test.each(['{"token": "s3cret', '[]', 'null', '"x"'])('%s is one warning, which does not quote it', (text) => {
    const [line = '', ...more] = warningsOf(text);

    expect(line).toMatch(/extensions_config\.json: not used: it must be a JSON object/);
    expect(line).not.toContain('s3cret');
    expect(more).toEqual([]);
  });
});

describe("DeerFlow's variables", () => {
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };

  test("are read where the product's own are not set, with a notice each", () => {
    const file = write('theirs.yaml', 'log_level: error');
    const config = loadConfig(
      { DEER_FLOW_CONFIG_PATH: file, DEER_FLOW_HOME: 'data', DEER_FLOW_EXTENSIONS_CONFIG_PATH: '/x/ext.json' },
      folder,
    );
    expect(config.logLevel).toBe('error');
    expect([config.homeDir, config.extensionsConfigPath]).toEqual([join(folder, 'data'), '/x/ext.json']);
    expect(config.notices).toEqual([
      'DEER_FLOW_CONFIG_PATH: read as CARIBOU_CONFIG',
      'DEER_FLOW_HOME: read as CARIBOU_HOME',
      'DEER_FLOW_EXTENSIONS_CONFIG_PATH: read as CARIBOU_EXTENSIONS_CONFIG',
    ]);
    expect(config.warnings).toEqual([]);
  });

  test("yield to the product's own, without a notice when both are the same", () => {
    const own = write('own.yaml', 'log_level: debug');
    const config = loadConfig(
      { CARIBOU_CONFIG: own, DEER_FLOW_CONFIG_PATH: '/nowhere', CARIBOU_HOME: '/data', DEER_FLOW_HOME: '/data' },
      folder,
    );
    expect(config).toMatchObject({ logLevel: 'debug', homeDir: '/data' });
    expect(config.notices).toEqual(['DEER_FLOW_CONFIG_PATH: not used: CARIBOU_CONFIG is set as well']);
  });

  test('a file that is not there is a fault of the variable that named it', () => {
    expect(() => loadConfig({ DEER_FLOW_CONFIG_PATH: '/nowhere/config.yaml' }, folder)).toThrow(
      'DEER_FLOW_CONFIG_PATH: there is no file /nowhere/config.yaml',
    );
  });
});

test('the fixture has the counts that its head says', () => {
  const text = readFileSync(join(root, 'e2e/api/deerflow/deerflow.yaml'), 'utf8');
  const [models = '', tools = ''] = [/^models:\n([\s\S]*?)^tool_groups:/m, /^tools:\n([\s\S]*?)^tool_search:/m].map(
    (part) => part.exec(text)?.[1],
  );
  expect([models, tools].map((part) => part.match(/^ {2}- name:/gm)?.length)).toEqual([5, 10]);
});
