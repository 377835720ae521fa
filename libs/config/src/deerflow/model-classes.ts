/** What is known of a client class of a model beside its name. */
export interface ModelClass {
  /** Where its provider is, when the entry does not say. */
  readonly baseUrl?: string;
  /** Variable of the key, when the entry does not say. */
  readonly keyVariable?: string;
  /** It sends the reasoning of earlier answers back. */
  readonly sendsReasoning?: boolean;
}

/** Classes that speak OpenAI's chat completions, by their name; the packages they come from differ by version. */
const compatible: Readonly<Record<string, ModelClass>> = {
  ChatOpenAI: {},
  PatchedChatOpenAI: {},
  PatchedChatMiniMax: {},
  MindIEChatModel: {},
  PatchedChatMiMo: { sendsReasoning: true },
  PatchedChatStepFun: { sendsReasoning: true },
  VllmChatModel: { sendsReasoning: true },
  ChatDeepSeek: { baseUrl: 'https://api.deepseek.com/v1', keyVariable: 'DEEPSEEK_API_KEY' },
  PatchedChatDeepSeek: {
    baseUrl: 'https://api.deepseek.com/v1',
    keyVariable: 'DEEPSEEK_API_KEY',
    sendsReasoning: true,
  },
  ChatXAI: { baseUrl: 'https://api.x.ai/v1', keyVariable: 'XAI_API_KEY' },
  ChatGroq: { baseUrl: 'https://api.groq.com/openai/v1', keyVariable: 'GROQ_API_KEY' },
  ChatMistralAI: { baseUrl: 'https://api.mistral.ai/v1', keyVariable: 'MISTRAL_API_KEY' },
  ChatTogether: { baseUrl: 'https://api.together.xyz/v1', keyVariable: 'TOGETHER_API_KEY' },
  ChatFireworks: { baseUrl: 'https://api.fireworks.ai/inference/v1', keyVariable: 'FIREWORKS_API_KEY' },
  ChatOpenRouter: { baseUrl: 'https://openrouter.ai/api/v1', keyVariable: 'OPENROUTER_API_KEY' },
};

/** Classes of other protocols, and the endpoint at which their models speak OpenAI's. */
const otherProtocols: Readonly<Record<string, string>> = {
  ChatAnthropic: 'https://api.anthropic.com/v1/',
  ClaudeChatModel: 'https://api.anthropic.com/v1/',
  ChatGoogleGenerativeAI: 'https://generativelanguage.googleapis.com/v1beta/openai/',
  ChatOllama: 'http://127.0.0.1:11434/v1',
  AzureChatOpenAI: 'https://<resource>.openai.azure.com/openai/v1/',
  AzureAIChatCompletionsModel: 'https://<resource>.services.ai.azure.com/openai/v1/',
};

/** What an entry's `use` means here. */
export type KnownClass =
  | { readonly kind: 'compatible'; readonly is: ModelClass }
  /** `endpoint`: where the same models speak OpenAI's protocol, if there is such a place. */
  | { readonly kind: 'other'; readonly endpoint: string | undefined }
  | { readonly kind: 'unknown' };

/** Absent, the class is OpenAI's own. */
export function classOf(use: string | undefined): KnownClass {
  const name = use === undefined ? 'ChatOpenAI' : use.slice(use.lastIndexOf(':') + 1);
  const is = Object.hasOwn(compatible, name) ? compatible[name] : undefined;
  if (is !== undefined) return { kind: 'compatible', is };
  if (Object.hasOwn(otherProtocols, name)) return { kind: 'other', endpoint: otherProtocols[name] };
  if (/Bedrock|VertexAI|Codex/.test(name)) return { kind: 'other', endpoint: undefined };
  return /openai/i.test(name) ? { kind: 'compatible', is: {} } : { kind: 'unknown' };
}
