import type { DialectName, ProtocolName } from '../common/dialects.js';

/** Properties of a LangChain client class. */
export interface ModelClass {
  /** Default URL of its provider. */
  readonly baseUrl?: string;
  /** Default variable of the API key. */
  readonly keyVariable?: string;
  /** Requests include the reasoning of earlier answers. */
  readonly sendsReasoning?: boolean;
  /** Default: that of the host. */
  readonly dialect?: DialectName;
  /** Default: chat completions. */
  readonly protocol?: ProtocolName;
}

/** Classes that speak OpenAI's chat completions protocol, by name without package, because packages differ by version. */
const compatible: Readonly<Record<string, ModelClass>> = {
  ChatOpenAI: {},
  PatchedChatOpenAI: {},
  PatchedChatMiniMax: { dialect: 'minimax' },
  MindIEChatModel: {},
  PatchedChatMiMo: { sendsReasoning: true },
  PatchedChatStepFun: { sendsReasoning: true },
  VllmChatModel: { sendsReasoning: true, dialect: 'vllm' },
  ChatDeepSeek: { baseUrl: 'https://api.deepseek.com/v1', keyVariable: 'DEEPSEEK_API_KEY', dialect: 'deepseek' },
  PatchedChatDeepSeek: {
    baseUrl: 'https://api.deepseek.com/v1',
    keyVariable: 'DEEPSEEK_API_KEY',
    sendsReasoning: true,
    dialect: 'deepseek',
  },
  ChatXAI: { baseUrl: 'https://api.x.ai/v1', keyVariable: 'XAI_API_KEY' },
  ChatGroq: { baseUrl: 'https://api.groq.com/openai/v1', keyVariable: 'GROQ_API_KEY' },
  ChatMistralAI: { baseUrl: 'https://api.mistral.ai/v1', keyVariable: 'MISTRAL_API_KEY', dialect: 'mistral' },
  ChatTogether: { baseUrl: 'https://api.together.xyz/v1', keyVariable: 'TOGETHER_API_KEY' },
  ChatFireworks: { baseUrl: 'https://api.fireworks.ai/inference/v1', keyVariable: 'FIREWORKS_API_KEY' },
  ChatOpenRouter: { baseUrl: 'https://openrouter.ai/api/v1', keyVariable: 'OPENROUTER_API_KEY', dialect: 'openrouter' },
};

/** Classes of other protocols, with the OpenAI-compatible endpoint of the same models. */
const otherProtocols: Readonly<Record<string, string>> = {
  ChatAnthropic: 'https://api.anthropic.com/v1/',
  ClaudeChatModel: 'https://api.anthropic.com/v1/',
  ChatGoogleGenerativeAI: 'https://generativelanguage.googleapis.com/v1beta/openai/',
  ChatOllama: 'http://127.0.0.1:11434/v1',
  AzureChatOpenAI: 'https://<resource>.openai.azure.com/openai/v1/',
  AzureAIChatCompletionsModel: 'https://<resource>.services.ai.azure.com/openai/v1/',
};

/** How an entry's `use` is handled. */
export type KnownClass =
  | { readonly kind: 'compatible'; readonly is: ModelClass }
  /** `endpoint`: the OpenAI-compatible endpoint of the same models, if there is one. */
  | { readonly kind: 'other'; readonly endpoint: string | undefined }
  | { readonly kind: 'unknown' };

/** Looks up the class that `use` names; default: OpenAI's own. */
export function classOf(use: string | undefined): KnownClass {
  const name = use === undefined ? 'ChatOpenAI' : use.slice(use.lastIndexOf(':') + 1);
  const is = Object.hasOwn(compatible, name) ? compatible[name] : undefined;
  if (is !== undefined) return { kind: 'compatible', is };
  if (Object.hasOwn(otherProtocols, name)) return { kind: 'other', endpoint: otherProtocols[name] };
  if (/Bedrock|VertexAI|Codex/.test(name)) return { kind: 'other', endpoint: undefined };
  return /openai/i.test(name) ? { kind: 'compatible', is: {} } : { kind: 'unknown' };
}
