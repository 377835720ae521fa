import type { DialectName, ProtocolName } from '../common/dialects.js';

/** Properties of a LangChain client class. */
export interface ModelClass {
  /** Default URL of its provider. */
  readonly baseUrl?: string;
  /** Variable of the environment that has the URL when the entry has none; such a class has no default URL. */
  readonly baseUrlVariable?: string;
  /** Variables of the API key, the first of which is set; none: the provider needs no key. Absent: OpenAI's. */
  readonly keyVariables?: readonly string[];
  /** Hosts that get the key of the environment; default: that of `baseUrl`. */
  readonly hosts?: RegExp;
  /** Requests include the reasoning of earlier answers; default: as the dialect does. */
  readonly sendsReasoning?: boolean;
  /** Default: that of the host. */
  readonly dialect?: DialectName;
  /** Default: chat completions. */
  readonly protocol?: ProtocolName;
  /** The class's names for keys of an entry. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** Options of the class that its OpenAI-compatible endpoint does not have. */
  readonly unused?: readonly string[];
}

const deepseek: ModelClass = {
  baseUrl: 'https://api.deepseek.com/v1',
  keyVariables: ['DEEPSEEK_API_KEY'],
  dialect: 'deepseek',
};

const azure: ModelClass = {
  hosts: /\.azure\.com$/,
  dialect: 'azure',
  aliases: {
    azure_endpoint: 'base_url',
    endpoint: 'base_url',
    azure_deployment: 'model',
    deployment_name: 'model',
    azure_ad_token: 'api_key',
    credential: 'api_key',
  },
  unused: ['api_version', 'openai_api_version', 'openai_api_type', 'model_version', 'validate_base_url'],
};

/** Anthropic's own API. */
const anthropic: ModelClass = {
  baseUrl: 'https://api.anthropic.com/v1',
  keyVariables: ['ANTHROPIC_API_KEY'],
  protocol: 'messages',
  aliases: { anthropic_api_key: 'api_key', anthropic_api_url: 'base_url', max_tokens_to_sample: 'max_tokens' },
  unused: ['anthropic_proxy', 'prompt_cache_size', 'retry_max_attempts', 'reuse_last_container'],
};

/** Classes whose protocols are served, by name without package, because packages differ by version. */
const compatible: Readonly<Record<string, ModelClass>> = {
  ChatOpenAI: {},
  ChatAnthropic: anthropic,
  ClaudeChatModel: anthropic,
  PatchedChatOpenAI: {},
  PatchedChatMiniMax: { dialect: 'minimax' },
  MindIEChatModel: {},
  PatchedChatMiMo: { sendsReasoning: true },
  PatchedChatStepFun: { sendsReasoning: true },
  VllmChatModel: { sendsReasoning: true, dialect: 'vllm' },
  ChatDeepSeek: deepseek,
  PatchedChatDeepSeek: { ...deepseek, sendsReasoning: true },
  ChatXAI: { baseUrl: 'https://api.x.ai/v1', keyVariables: ['XAI_API_KEY'] },
  ChatGroq: { baseUrl: 'https://api.groq.com/openai/v1', keyVariables: ['GROQ_API_KEY'] },
  ChatMistralAI: { baseUrl: 'https://api.mistral.ai/v1', keyVariables: ['MISTRAL_API_KEY'], dialect: 'mistral' },
  ChatTogether: { baseUrl: 'https://api.together.xyz/v1', keyVariables: ['TOGETHER_API_KEY'] },
  ChatFireworks: { baseUrl: 'https://api.fireworks.ai/inference/v1', keyVariables: ['FIREWORKS_API_KEY'] },
  ChatOpenRouter: {
    baseUrl: 'https://openrouter.ai/api/v1',
    keyVariables: ['OPENROUTER_API_KEY'],
    dialect: 'openrouter',
  },
  ChatGoogleGenerativeAI: {
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai/',
    keyVariables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    dialect: 'gemini',
    aliases: { gemini_api_key: 'api_key', google_api_key: 'api_key', max_output_tokens: 'max_tokens' },
    unused: ['client_options', 'convert_system_message_to_human', 'response_modalities', 'safety_settings', 'top_k'],
  },
  ChatOllama: {
    baseUrl: 'http://127.0.0.1:11434/v1',
    keyVariables: [],
    dialect: 'ollama',
    aliases: { num_predict: 'max_tokens' },
    unused: [
      ...['client_kwargs', 'format', 'keep_alive', 'mirostat', 'mirostat_eta', 'mirostat_tau', 'num_ctx', 'num_gpu'],
      ...['num_thread', 'repeat_last_n', 'repeat_penalty', 'tfs_z', 'top_k', 'validate_model_on_init'],
    ],
  },
  AzureChatOpenAI: {
    ...azure,
    baseUrlVariable: 'AZURE_OPENAI_ENDPOINT',
    keyVariables: ['AZURE_OPENAI_API_KEY', 'AZURE_OPENAI_AD_TOKEN'],
  },
  AzureAIChatCompletionsModel: {
    ...azure,
    baseUrlVariable: 'AZURE_AI_ENDPOINT',
    keyVariables: ['AZURE_AI_CREDENTIAL', 'AZURE_OPENAI_API_KEY'],
  },
};

/** Classes of other protocols, by a pattern of their name, with the OpenAI-compatible endpoint of the same models. */
const otherProtocols: readonly (readonly [name: RegExp, endpoint: string | undefined])[] = [
  [/Bedrock/, 'https://bedrock-runtime.<region>.amazonaws.com/openai/v1, with a Bedrock API key as api_key'],
  [
    /Vertex/,
    'https://aiplatform.googleapis.com/v1/projects/<project>/locations/global/endpoints/openapi, with an access token as api_key',
  ],
  [/Codex/, undefined],
];

/** How an entry's `use` is handled. */
export type KnownClass =
  | { readonly kind: 'compatible'; readonly is: ModelClass }
  /** `endpoint`: the OpenAI-compatible endpoint of the same models, if there is one. */
  | { readonly kind: 'other'; readonly endpoint: string | undefined }
  | { readonly kind: 'unknown' };

/** The class of an entry: that which `use` names, or the provider's own class of an explicit protocol. */
export function classOfEntry(use: string | undefined, protocol: ProtocolName | undefined): ModelClass {
  const found = classOf(use);
  const known: ModelClass = found.kind === 'compatible' ? found.is : {};
  return protocol === 'messages' && known.protocol !== 'messages' && known.baseUrl === undefined ? anthropic : known;
}

/** Looks up the class that `use` names; default: OpenAI's own. */
export function classOf(use: string | undefined): KnownClass {
  const name = use === undefined ? 'ChatOpenAI' : use.slice(use.lastIndexOf(':') + 1);
  const is = Object.hasOwn(compatible, name) ? compatible[name] : undefined;
  if (is !== undefined) return { kind: 'compatible', is };
  const other = otherProtocols.find(([pattern]) => pattern.test(name));
  if (other !== undefined) return { kind: 'other', endpoint: other[1] };
  return /openai/i.test(name) ? { kind: 'compatible', is: {} } : { kind: 'unknown' };
}
