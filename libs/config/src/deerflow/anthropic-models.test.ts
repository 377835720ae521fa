import { faultsOf } from '../testing/config-folders.js';
import { type DeerflowFolder, useDeerflowFolder } from '../testing/deerflow-folder.js';

let deerflow: DeerflowFolder;

useDeerflowFolder((opened) => {
  deerflow = opened;
});

const KEY = { ANTHROPIC_API_KEY: 'sk-ant-api-1' };

describe('models of Anthropic', () => {
  test("DeerFlow's and LangChain's classes are asked by its own protocol, at its URL, with its key", () => {
    const { models, warnings, notices } = deerflow.load(
      `
models:
  - {name: a, use: 'langchain_anthropic:ChatAnthropic', model: claude-opus-5-5, max_tokens_to_sample: 4096}
  - name: b
    use: 'deerflow.models.claude_provider:ClaudeChatModel'
    model: claude-sonnet-4-6
    enable_prompt_caching: false
    auto_thinking_budget: true
    prompt_cache_size: 3
    retry_max_attempts: 5
  - {name: c, use: 'langchain_anthropic:ChatAnthropic', anthropic_api_key: sk-2, anthropic_api_url: 'https://proxy.example'}
`,
      KEY,
    );
    expect(models.map(({ protocol, baseUrl, apiKey }) => [protocol, baseUrl, apiKey?.reveal()])).toEqual([
      ['messages', 'https://api.anthropic.com/v1', 'sk-ant-api-1'],
      ['messages', 'https://api.anthropic.com/v1', 'sk-ant-api-1'],
      ['messages', 'https://proxy.example', 'sk-2'],
    ]);
    expect(models[0]).toMatchObject({ maxTokens: 4096, body: {}, anthropic: { promptCaching: true, cacheTtl: '5m' } });
    expect(models[1]).toMatchObject({ body: {}, anthropic: { promptCaching: false, thinking: 'adaptive' } });
    expect(warnings).toEqual([]);
    expect(notices).toEqual([expect.stringMatching(/^models\[1\]: .*prompt_cache_size, retry_max_attempts/)]);
  });

  test('an entry may name the protocol itself, and say what its model accepts', () => {
    const { models } = deerflow.load(
      `
models:
  - {name: claude-haiku-4-5, protocol: messages}
  - name: proxied
    protocol: messages
    model: house-model
    base_url: https://models.example/anthropic
    anthropic: {cache_ttl: 1h, thinking: adaptive, thinking_off: between_tools, thinking_budget: 2048, bound_thinking: true, sampling: false, effort: [low, high], system_messages: true}
`,
      KEY,
    );
    expect(models[0]).toMatchObject({ baseUrl: 'https://api.anthropic.com/v1', anthropic: { thinking: 'budget' } });
    expect(models[0]?.apiKey?.reveal()).toBe('sk-ant-api-1');
    expect(models[1]?.apiKey).toBeUndefined();
    expect(models[1]?.anthropic).toMatchObject({
      cacheTtl: '1h',
      thinking: 'adaptive',
      thinkingOff: 'between_tools',
      thinkingBudgetTokens: 2048,
      bindsThinking: true,
      sampling: false,
      effort: ['low', 'high'],
      systemMessages: true,
    });
  });

  test('a budget or sampling parameters that the model refuses are one notice each', () => {
    const { notices, models } = deerflow.load(
      `
models:
  - {name: new, protocol: messages, model: claude-opus-5, temperature: 0.2, top_k: 5, when_thinking_enabled: {thinking: {type: enabled, budget_tokens: 9000}}}
  - {name: both, protocol: messages, model: claude-sonnet-4-6, temperature: 0.2, thinking: {type: enabled, budget_tokens: 9000}}
  - {name: old, protocol: messages, model: claude-sonnet-4-5, temperature: 0.2, thinking: {type: enabled, budget_tokens: 9000}}
`,
      KEY,
    );
    expect(notices).toEqual([
      expect.stringMatching(/^models\[0\]: claude-opus-5 decides itself how much it thinks/),
      expect.stringMatching(/^models\[0\]: temperature, top_k are not sent/),
    ]);
    expect(models.map(({ anthropic }) => anthropic?.thinking)).toEqual(['adaptive', 'budget', 'budget']);
  });

  test("without a key, or with a token of Claude Code's sign-in, the model says what to do and shows no token", () => {
    const yaml = "models: [{name: a, use: 'deerflow.models.claude_provider:ClaudeChatModel'}]";
    expect(deerflow.load(yaml).problems).toEqual([
      expect.stringMatching(/^model "a" has no API key: set ANTHROPIC_API_KEY/),
    ]);
    const [problem = ''] = deerflow.load(yaml, { ANTHROPIC_API_KEY: 'sk-ant-oat01-hidden' }).problems;
    expect(problem).toMatch(/^model "a" has a token of Claude Code's sign-in, which is not served/);
    expect(problem).not.toContain('hidden');
  });

  test('a wrong option is a fault that names the key and what it may be', () => {
    const faults = faultsOf(() =>
      deerflow.load(
        'models: [{name: a, protocol: messages, anthropic: {cache_ttl: 2h, thinking_budget: 5, colour: red}}]',
      ),
    );
    expect(faults).toEqual([
      expect.stringMatching(/^models\[0\]\.anthropic\.cache_ttl: .*"5m"\|"1h"/),
      expect.stringMatching(/^models\[0\]\.anthropic\.thinking_budget: .*1024/),
      expect.stringMatching(/^models\[0\]\.anthropic: .*colour/),
    ]);
  });

  test('the OpenAI-compatible endpoint stays available', () => {
    const { models } = deerflow.load(
      "models: [{name: a, use: 'langchain_openai:ChatOpenAI', base_url: 'https://api.anthropic.com/v1/', api_key: k}]",
    );
    expect(models[0]).toMatchObject({ protocol: 'chat_completions', baseUrl: 'https://api.anthropic.com/v1/' });
  });
});
