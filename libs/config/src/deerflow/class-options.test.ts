import { type DeerflowFolder, useDeerflowFolder } from '../testing/deerflow-folder.js';

let deerflow: DeerflowFolder;

useDeerflowFolder((opened) => {
  deerflow = opened;
});

const load = (entry: string, env: Record<string, string> = {}) => {
  const config = deerflow.load(`models:\n  - {name: m, ${entry}}\n`, env);
  return { ...config, model: config.models[0] };
};

describe('a model of Gemini', () => {
  test('is at the OpenAI-compatible address with the key of either variable', () => {
    const entry = "use: 'langchain_google_genai:ChatGoogleGenerativeAI', model: gemini-3-pro";
    const baseUrl = 'https://generativelanguage.googleapis.com/v1beta/openai/';
    for (const name of ['GEMINI_API_KEY', 'GOOGLE_API_KEY']) {
      const { model, problems } = load(entry, { [name]: 'g-1', OPENAI_API_KEY: 'sk-open' });
      expect(model).toMatchObject({ baseUrl, dialect: 'gemini', model: 'gemini-3-pro' });
      expect([model?.apiKey?.reveal(), problems]).toEqual(['g-1', []]);
    }
    expect(load(entry, { OPENAI_API_KEY: 'sk-open' }).problems).toEqual([expect.stringContaining('GEMINI_API_KEY')]);
    expect(load(`${entry}, base_url: 'https://generativelanguage.googleapis.com'`).model?.baseUrl).toBe(baseUrl);
  });

  test('has its options under the names of that address', () => {
    const { model, notices } = load(
      "use: 'a:ChatGoogleGenerativeAI', gemini_api_key: k, max_output_tokens: 9, thinking_budget: 99, include_thoughts: true, top_k: 3",
    );
    expect(model?.apiKey?.reveal()).toBe('k');
    expect(model).toMatchObject({
      maxTokens: 9,
      body: { extra_body: { google: { thinking_config: { thinking_budget: 99, include_thoughts: true } } } },
    });
    expect(model?.body).not.toHaveProperty('top_k');
    expect(notices.join()).toMatch(/options of the client class are not used: top_k;/);
  });
});

describe('a model of Ollama', () => {
  test.each([
    ["base_url: 'http://gpu:11434'", 'http://gpu:11434/v1'],
    ["base_url: 'http://gpu:11434/'", 'http://gpu:11434/v1'],
    ["base_url: 'http://gpu:11434/v1'", 'http://gpu:11434/v1'],
    ["base_url: 'http://gpu/ollama/v1'", 'http://gpu/ollama/v1'],
    ['model: q', 'http://127.0.0.1:11434/v1'],
  ])('with %s is at %s, without a key', (entry, baseUrl) => {
    const { model, problems } = load(`use: 'langchain_ollama:ChatOllama', ${entry}`, { OPENAI_API_KEY: 'sk-open' });
    expect(model).toMatchObject({ baseUrl, dialect: 'ollama' });
    expect([model?.apiKey, problems]).toEqual([undefined, []]);
  });

  test('has its limit and its thinking under the names of that address', () => {
    const { model, notices } = load("use: 'l:ChatOllama', num_predict: 8192, num_ctx: 32768, reasoning: true");
    expect(model).toMatchObject({ maxTokens: 8192, body: { reasoning: { effort: 'medium' } } });
    expect(model?.body).not.toHaveProperty('num_ctx');
    expect(notices.join()).toContain('num_ctx');
    const off = load(
      "use: 'l:ChatOllama', num_predict: -1, reasoning: false, when_thinking_enabled: {reasoning: high}",
    );
    expect(off.model).toMatchObject({
      body: { reasoning: { effort: 'none' } },
      whenThinkingEnabled: { reasoning: { effort: 'high' } },
    });
    expect(off.model).not.toHaveProperty('maxTokens');
  });
});

describe('a model of Azure', () => {
  const entry = "use: 'langchain_openai:AzureChatOpenAI', azure_deployment: my-gpt, api_version: 2024-10-21";

  test('is at /openai/v1/ of its endpoint, by the name of its deployment', () => {
    const env = { AZURE_OPENAI_API_KEY: 'az-1', OPENAI_API_KEY: 'sk-open' };
    const { model, notices } = load(`${entry}, azure_endpoint: 'https://r.openai.azure.com/'`, env);
    expect(model).toMatchObject({
      baseUrl: 'https://r.openai.azure.com/openai/v1/',
      model: 'my-gpt',
      dialect: 'azure',
      body: {},
    });
    expect(model?.apiKey?.reveal()).toBe('az-1');
    expect(notices.join()).toContain('api_version');
  });

  test('takes the endpoint of the environment, and is left out with a warning when there is none', () => {
    const env = { AZURE_OPENAI_ENDPOINT: 'https://r.openai.azure.com', AZURE_OPENAI_API_KEY: 'az-1' };
    expect(load(entry, env).model?.baseUrl).toBe('https://r.openai.azure.com/openai/v1/');
    const { models, warnings } = load(entry);
    expect(models).toEqual([]);
    expect(warnings).toEqual([expect.stringMatching(/^models\[0\]: the model m is left out: .*AZURE_OPENAI_ENDPOINT/)]);
  });

  test('of Foundry is at the same address, and a gateway in front of it at its own, without the key', () => {
    const foundry = "use: 'a:AzureAIChatCompletionsModel', endpoint: 'https://r.services.ai.azure.com/models'";
    const { model } = load(foundry, { AZURE_AI_CREDENTIAL: 'ai-1' });
    expect(model?.baseUrl).toBe('https://r.services.ai.azure.com/openai/v1/');
    expect(model?.apiKey?.reveal()).toBe('ai-1');
    const gateway = load(`${entry}, base_url: 'https://gate.example/v1', default_query: {api-version: preview}`, {
      AZURE_OPENAI_API_KEY: 'az-1',
    }).model;
    expect(gateway).toMatchObject({ baseUrl: 'https://gate.example/v1', query: { 'api-version': 'preview' } });
    expect(gateway?.apiKey).toBeUndefined();
  });
});

describe('the dialect of a model', () => {
  test.each([
    ["use: 'p:PatchedChatDeepSeek', api_base: 'https://api.moonshot.cn/v1', api_key: k", 'kimi'],
    ["use: 'p:PatchedChatMiniMax', base_url: 'https://gate.example/v1'", 'minimax'],
    ["use: 'p:PatchedChatOpenAI', base_url: 'https://gate.example/v1'", 'generic'],
    ["use: 'p:PatchedChatOpenAI', base_url: 'https://gate.example/v1', dialect: gemini", 'gemini'],
    ["use: 'p:MindIEChatModel', base_url: 'http://127.0.0.1:9/v1'", 'generic'],
    ["base_url: 'https://bedrock-mantle.us-east-1.api.aws/v1', api_key: k", 'bedrock'],
  ])('of {%s} is %s', (entry, dialect) => {
    expect(load(entry).model?.dialect).toBe(dialect);
  });
});
