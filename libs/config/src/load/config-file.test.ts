import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { type Config, loadConfig } from '../index.js';
import { faultsOf, keyOf, useConfigFolders } from '../testing/config-folders.js';

const folderWith = useConfigFolders();
const load = (yaml: string, env: Record<string, string> = {}): Config => loadConfig(env, folderWith(yaml));

describe('loadConfig with a file', () => {
  test("loads a file in DeerFlow's format, resolves its variables and names what is not used", () => {
    const config = load(
      `
config_version: 34
log_level: WARNING
models:
  - name: gpt
    display_name: GPT
    use: langchain_openai:ChatOpenAI
    model: gpt-4
    api_key: $MY_KEY
    max_tokens: 4096
    temperature: 0.7
    supports_vision: true
    timeout: 600
    top_p: 0.9
    extra_body: {seed: 7}
  - name: deep
    use: deerflow.models.patched_deepseek:PatchedChatDeepSeek
    model: deepseek-reasoner
    api_key: $MY_KEY
    api_base: https://api.deepseek.com/v1
    supports_thinking: true
    when_thinking_enabled: {extra_body: {thinking: {type: enabled}}}
  - name: claude
    use: langchain_aws:ChatBedrock
    api_key: $NOT_SET
tools: [{name: web, group: web, use: my.tools:web_tool, api_key: $NOT_SET}]
title: {enabled: true, max_words: 8, model_name: gpt, prompt_template: x}
sandbox: {use: 'deerflow.sandbox.local:LocalSandboxProvider', image: other}
`,
      { MY_KEY: 'sk-mine' },
    );
    expect(config.logLevel).toBe('warn');
    expect(config.models.map(({ name, baseUrl }) => [name, baseUrl])).toEqual([
      ['gpt', 'https://api.openai.com/v1'],
      ['deep', 'https://api.deepseek.com/v1'],
    ]);
    expect(config.models[0]).toMatchObject({
      displayName: 'GPT',
      model: 'gpt-4',
      maxTokens: 4096,
      temperature: 0.7,
      supportsVision: true,
      body: { top_p: 0.9, seed: 7 },
    });
    expect(config.models[0]?.apiKey?.reveal()).toBe('sk-mine');
    expect(config.title).toEqual({ enabled: true, maxWords: 8, maxChars: 60, modelName: 'gpt' });
    expect(config.sandbox).toMatchObject({ driver: 'auto', image: 'caribou-sandbox:latest' });
    expect(config.warnings.map(keyOf).sort()).toEqual([
      'models[2]',
      'sandbox.image',
      'title.prompt_template',
      'tools[0]',
    ]);
    expect(config.notices.map(keyOf).sort()).toEqual(['config_version', 'models[0]', 'sandbox.use']);
  });

  test('names key and variable when a variable is not set', () => {
    const faults = faultsOf(() => load('models: [{name: m, api_key: $GONE, extra_body: {a: [$GONE_TOO]}}]'));
    expect(faults).toEqual([
      'models[0].api_key: the variable GONE is not set',
      'models[0].extra_body.a[0]: the variable GONE_TOO is not set',
    ]);
  });

  test('takes a reference from a file too, and asks a service that reads some sections for no other variable', () => {
    const folder = folderWith(
      'models:\n  - name: m\n    model: m\n    api_key: $PROVIDER_KEY\nclocks:\n  sweep_ms: 700\n',
    );
    writeFileSync(join(folder, 'key'), 'sk-of-file');
    const config = loadConfig({ PROVIDER_KEY_FILE: join(folder, 'key') }, folder);
    expect(config.models[0]?.apiKey?.reveal()).toBe('sk-of-file');
    expect(() => loadConfig({}, folder)).toThrow('the variable PROVIDER_KEY is not set');
    const some = loadConfig({}, folder, ['clocks', 'sandbox']);
    expect(some.clocks.sweepMs).toBe(700);
    expect(some.models).toEqual([]);
  });

  test('keeps a model without its key in the list and says what is missing', () => {
    const config = load('models: [{name: a}, {name: b, base_url: "http://127.0.0.1:9/v1"}]');
    expect(config.models.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(config.problems).toEqual([expect.stringMatching(/^model "a" has no API key: .*OPENAI_API_KEY/)]);
    expect(config.models[0]?.problem).toBe(config.problems[0]);
  });

  test('changes clocks in milliseconds and refuses a renewal that is too slow for its lease', () => {
    const { clocks } = load('clocks: {lease_ms: 1000, renew_ms: 300, heartbeat_ms: 500}');
    expect(clocks).toMatchObject({ leaseMs: 1000, renewMs: 300, heartbeatMs: 500, ackWaitMs: 10000 });
    expect(faultsOf(() => load('clocks: {lease_ms: 1000}'))).toEqual([
      'clocks.renew_ms: must be at most a third of lease_ms',
    ]);
  });

  test('gives sandboxes no network unless hosts are allowed, and refuses invalid hosts', () => {
    expect(load('').sandbox.network).toEqual({ allow: [], allowPrivate: [] });
    const rules = ['pypi.org', '*.npmjs.org', 'mirror.lan:8443', '[2606:4700::1]:443', 'bücher.example'];
    expect(
      load(`sandbox: {network: {allow: ${JSON.stringify(rules)}, allow_private: [10.0.0.0/8]}}`).sandbox.network,
    ).toEqual({
      allow: rules,
      allowPrivate: ['10.0.0.0/8'],
    });
    const wrong = ['*', '*.*.org', 'https://pypi.org', 'pypi.org/simple', 'a b', 'u@pypi.org', 'a:b', '::1', ''];
    const yaml = `sandbox: {network: {allow: ${JSON.stringify(wrong)}, allow_private: [mirror.lan]}}`;
    expect(faultsOf(() => load(yaml)).map(keyOf)).toEqual([
      ...wrong.map((_, index) => `sandbox.network.allow[${index}]`),
      'sandbox.network.allow_private[0]',
    ]);
  });

  test('refuses values out of range with the key and the limit', () => {
    const yaml =
      'runner: {slots: 0}\nsandbox: {driver: host, limits: {pids: many}}\nmodels: [{name: a}, {name: a}]\ntitle: 7';
    const faults = faultsOf(() => load(yaml, { OPENAI_API_KEY: 'k' })).join('\n');
    expect(faults).toMatch(/runner\.slots: .*1/);
    expect(faults).toMatch(/sandbox\.driver: .*docker/);
    expect(faults).toMatch(/sandbox\.limits\.pids: .*int|number/);
    expect(faults).toMatch(/models\[1\]\.name: /);
    expect(faults).toMatch(/title: .*object/);
  });

  test('reports the position of invalid YAML without quoting the line', () => {
    const faults = faultsOf(() => load('models:\n  - name: a\n    api_key: "sk-secret\n'));
    expect(faults[0]).toMatch(/config\.yaml: line \d+, column \d+/);
    expect(faults.join()).not.toContain('sk-secret');
  });

  test('the LOG_LEVEL variable wins over the file', () => {
    expect(load('log_level: info', { LOG_LEVEL: 'debug' }).logLevel).toBe('debug');
  });

  test('shows no secret when the configuration is printed or serialised, and cannot be changed', () => {
    const config = load('models: [{name: a, api_key: $K, default_headers: {X-Token: $T}}]', {
      K: 'secret-1',
      T: 'secret-2',
      CARIBOU_API_KEYS: 'secret-3:bob',
      NATS_URL: 'nats://u:secret-4@h:4222',
      REDIS_URL: 'redis://:secret-5@h:6379',
    });
    expect(JSON.stringify(config)).not.toContain('secret-');
    expect(inspect(config, { depth: 10, showHidden: true })).not.toContain('secret-');
    expect(config.models[0]?.headers['X-Token']?.reveal()).toBe('secret-2');
    expect(() => Object.assign(config.clocks, { leaseMs: 1 })).toThrow(TypeError);
  });
});

describe('the rules for commands', () => {
  const own = '{id: no-curl, verdict: warn, match: {commands: [curl]}, message: no network}';

  test('are the built-in ones, changed by id, then the own ones', () => {
    const shipped = load('').commandRules;
    expect(shipped.maxChars).toBe(10_000);
    expect(shipped.rules).toContainEqual(expect.objectContaining({ id: 'rm-root', verdict: 'block' }));

    const { rules } = load(
      `command_rules: {disabled: [chmod-777], verdicts: {pip-install: block, dd-input: pass}, rules: [${own}]}`,
    ).commandRules;
    const verdicts = new Map(rules.map(({ id, verdict }) => [id, verdict]));
    expect([verdicts.get('chmod-777'), verdicts.get('pip-install'), verdicts.get('dd-input')]).toEqual([
      undefined,
      'block',
      'pass',
    ]);
    expect(rules.at(-1)).toMatchObject({ id: 'no-curl', match: { commands: ['curl'] } });
    expect(rules).toHaveLength(shipped.rules.length);
    expect(load(`command_rules: {defaults: false, rules: [${own}]}`).commandRules.rules).toHaveLength(1);
  });

  test('each fault names its key', () => {
    const yaml = `
command_rules:
  max_chars: 0
  disabled: [rm-root, nothing]
  verdicts: {nothing: warn, mkfs: perhaps}
  rules:
    - {id: mkfs, verdict: warn, match: {commands: [x]}, message: m}
    - {id: A b, verdict: deny, match: {commands: [x], comands: [x]}, message: ""}
    - {id: empty, verdict: warn, match: {}, message: m}
    - {id: lonely, verdict: warn, match: {except: [echo]}, message: m}
`;
    expect(
      faultsOf(() => load(yaml))
        .map(keyOf)
        .sort(),
    ).toEqual(
      [
        'command_rules.max_chars',
        'command_rules.verdicts.mkfs',
        'command_rules.rules[1].id',
        'command_rules.rules[1].verdict',
        'command_rules.rules[1].match',
        'command_rules.rules[1].message',
        'command_rules.rules[2].match',
        'command_rules.rules[3].match',
      ].sort(),
    );
    const ids = `command_rules: {disabled: [rm-root, nothing], verdicts: {gone: warn}, rules: [${own}, ${own}, {id: mkfs, verdict: warn, match: {commands: [x]}, message: m}]}`;
    expect(faultsOf(() => load(ids))).toEqual([
      'command_rules.disabled[1]: no built-in rule has this id',
      'command_rules.verdicts.gone: no built-in rule has this id',
      'command_rules.rules[1].id: another rule has this id',
      'command_rules.rules[2].id: another rule has this id',
    ]);
  });
});
