import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../index.js';
import { faultsOf, keyOf } from '../testing/config-folders.js';
import { DEERFLOW_ENV, type DeerflowFolder, useDeerflowFolder } from '../testing/deerflow-folder.js';

const root = join(__dirname, '../../../..');
let deerflow: DeerflowFolder;

useDeerflowFolder((opened) => {
  deerflow = opened;
});

describe("a configuration in DeerFlow's format", () => {
  const config = loadConfig({ ...DEERFLOW_ENV, CARIBOU_CONFIG: join(root, 'e2e/api/deerflow/deerflow.yaml') }, '/');

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
    expect(config.models[1]).toMatchObject({ body: {} });
    expect(config.models[1]).not.toHaveProperty('sendReasoning');
    expect(config.models.map(({ dialect }) => dialect)).toEqual(['vllm', 'openai', 'deepseek', 'kimi', 'minimax']);
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
    expect(config.notices.map(keyOf)).toEqual(
      expect.arrayContaining([
        'config_version',
        'database',
        'scheduler',
        'sandbox.use',
        'sandbox.replicas',
        'models[0]',
        'tools[7]',
      ]),
    );
    expect(config.notices.join('\n')).not.toContain('key-1');
  });
});

describe('models', () => {
  test('a class of another protocol is one warning that names an endpoint, and what used it falls back', () => {
    const config = deerflow.load(`
models:
  - {name: codex, use: 'deerflow.models:CodexChatModel', model: c, api_key: $GONE, default_request_timeout: 9}
  - {name: vertex, use: 'langchain_google_vertexai:ChatVertexAI'}
  - {name: cloud, use: 'langchain_aws:ChatBedrock'}
  - {name: main, use: 'langchain_openai:ChatOpenAI', openai_api_key: sk-1, openai_api_base: 'https://x.example/v1', model_name: m}
title: {model_name: codex}
summarization: {model_name: vertex}
subagents: {agents: {bash: {model: codex}}, custom_agents: {own: {description: d, system_prompt: s, model: cloud}}}
`);
    expect(config.warnings).toEqual([
      expect.stringMatching(/^models\[0\]: the model codex is left out: .*gateway/),
      expect.stringMatching(/^models\[1\]: the model vertex is left out: .*\/endpoints\/openapi, with an access token/),
      expect.stringMatching(/^models\[2\]: the model cloud is left out: .*amazonaws\.com\/openai\/v1, with a Bedrock/),
    ]);
    expect(config.models).toMatchObject([{ name: 'main', model: 'm', baseUrl: 'https://x.example/v1', body: {} }]);
    expect(config.models[0]?.apiKey?.reveal()).toBe('sk-1');
    expect([config.title.modelName, config.chain.summarization.model_name]).toEqual([null, null]);
    expect(config.chain.subagents.agents['bash']?.model).toBe('inherit');
    expect(config.chain.subagents.custom_agents['own']?.model).toBe('inherit');
  });

  test('an unknown class is called at its base_url with a notice, and left out without one', () => {
    const config = deerflow.load(`
models:
  - {name: a, use: 'my_models:MyChat', base_url: 'http://127.0.0.1:9/v1'}
  - {name: b, use: 'my_models:MyChat'}
`);
    expect(config.models.map(({ name }) => name)).toEqual(['a']);
    expect(config.notices.map(keyOf)).toEqual(['models[0].use']);
    expect(config.warnings.map(keyOf)).toEqual(['models[1]']);
  });

  test('use_responses_api, or output_version without it, asks for Responses unless protocol says otherwise', () => {
    const config = deerflow.load(`
models:
  - {name: a, use: 'langchain_openai:ChatOpenAI', use_responses_api: true, output_version: responses/v1}
  - {name: b, output_version: responses/v1}
  - {name: c, output_version: responses/v1, use_responses_api: false}
  - {name: d, output_version: v0}
  - {name: e, protocol: responses}
  - {name: f, protocol: chat_completions, use_responses_api: true}
`);
    expect(config.models.map(({ name, protocol }) => `${name} ${protocol}`)).toEqual([
      'a responses',
      'b responses',
      'c chat_completions',
      'd chat_completions',
      'e responses',
      'f chat_completions',
    ]);
    expect(config.models.map(({ body }) => body)).toEqual(Array.from({ length: 6 }, () => ({})));
    expect(config.notices).toEqual([]);
    const faults = faultsOf(() => deerflow.load('models: [{name: a, use_responses_api: "yes"}]'));
    expect(faults).toEqual([expect.stringMatching(/^models\[0\]\.use_responses_api: /)]);
  });

  test("a provider's key of the environment goes to that provider only", () => {
    const yaml = `
models:
  - {name: a, use: 'langchain_deepseek:ChatDeepSeek'}
  - {name: b, use: 'langchain_deepseek:ChatDeepSeek', api_base: 'https://elsewhere.example/v1'}
`;
    const { models } = deerflow.load(yaml, { DEEPSEEK_API_KEY: 'sk-deep', OPENAI_API_KEY: 'sk-open' });
    expect(models.map(({ apiKey }) => apiKey?.reveal())).toEqual(['sk-deep', undefined]);
    expect(deerflow.load(yaml).problems).toEqual([
      expect.stringMatching(/^model "a" has no API key: set DEEPSEEK_API_KEY/),
    ]);
  });
});

describe('keys without a counterpart', () => {
  test('are warned about only while they are on', () => {
    expect(
      deerflow.load('guardrails: {enabled: false}\nchannels: {}\nscheduler: null\nsandbox: {mounts: []}').warnings,
    ).toEqual([]);
    const { warnings } = deerflow.load(
      'guardrails: {enabled: true}\nchannels: {slack: {enabled: true}}\nsandbox: {mounts: [{host_path: /x}], colour: red}\nmodles: []',
    );
    expect([...warnings.map(keyOf)].sort()).toEqual([
      'channels',
      'guardrails',
      'modles',
      'sandbox.colour',
      'sandbox.mounts',
    ]);
    for (const line of warnings) expect(line).toMatch(/: not used: there is no (counterpart|such key).*[;:] ./);
  });

  test('a Python middleware is one warning, and a JavaScript one beside it is loaded', () => {
    const { warnings, chain } = deerflow.load('extensions: {middlewares: ["my.mw:Guard", "./audit.mjs#audit"]}');
    expect(warnings.map(keyOf)).toEqual(['extensions.middlewares[0]']);
    expect(chain.extensions.middlewares).toEqual([{ use: `${join(deerflow.folder, 'audit.mjs')}#audit`, options: {} }]);
  });

  test('a key of this product takes precedence over its counterpart', () => {
    const { sandbox } = deerflow.load(
      'sandbox: {idle_timeout: 5, idle_ms: 9000, bash_command_timeout: 0, limits: {pids: 20}}',
    );
    expect(sandbox).toMatchObject({ idleMs: 9_000, limits: { pids: 20, commandTimeoutMs: 100 } });
    expect(deerflow.load('sandbox: {idle_timeout: 0}').sandbox.idleMs).toBe(604_800_000);
    expect(faultsOf(() => deerflow.load('max_recursion_limit: 5\nrunner: 7'))).toEqual([
      expect.stringMatching(/^runner: /),
    ]);
  });

  test('settings of its memory count as keys of memory', () => {
    expect(deerflow.load('memory: {enabled: true, backend_config: {enabled: false}}').chain.memory.enabled).toBe(true);
    expect(
      deerflow.load('memory: {manager_class: deermem, backend_config: {enabled: false}}').chain.memory.enabled,
    ).toBe(false);
  });
});

describe('extensions_config.json', () => {
  const warningsOf = (text: string): readonly string[] => {
    writeFileSync(join(deerflow.folder, 'extensions_config.json'), text);
    return deerflow.load('').warnings;
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
    writeFileSync(join(deerflow.folder, name), text);
    return join(deerflow.folder, name);
  };

  test("are read where the product's own are not set, with a notice each", () => {
    const file = write('theirs.yaml', 'log_level: error');
    const config = loadConfig(
      { DEER_FLOW_CONFIG_PATH: file, DEER_FLOW_HOME: 'data', DEER_FLOW_EXTENSIONS_CONFIG_PATH: '/x/ext.json' },
      deerflow.folder,
    );
    expect(config.logLevel).toBe('error');
    expect([config.homeDir, config.extensionsConfigPath]).toEqual([join(deerflow.folder, 'data'), '/x/ext.json']);
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
      deerflow.folder,
    );
    expect(config).toMatchObject({ logLevel: 'debug', homeDir: '/data' });
    expect(config.notices).toEqual(['DEER_FLOW_CONFIG_PATH: not used: CARIBOU_CONFIG is set as well']);
  });

  test('a file that is not there is a fault of the variable that named it', () => {
    expect(() => loadConfig({ DEER_FLOW_CONFIG_PATH: '/nowhere/config.yaml' }, deerflow.folder)).toThrow(
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
