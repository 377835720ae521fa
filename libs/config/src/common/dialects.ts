/** Protocols of model providers: OpenAI's chat completions and responses, Anthropic's messages. */
export const protocolNames = ['chat_completions', 'responses', 'messages'] as const;
/** `module`: a module of the operator asks the provider. */
export type ProtocolName = (typeof protocolNames)[number] | 'module';

/**
 * Variants of OpenAI's chat completions protocol, by provider or server. `generic` sends what most servers accept. The rules of
 * each are in libs/models.
 */
export const dialectNames = [
  'generic',
  'openai',
  'azure',
  'bedrock',
  'deepseek',
  'gemini',
  'kimi',
  'minimax',
  'mistral',
  'ollama',
  'openrouter',
  'vllm',
] as const;
export type DialectName = (typeof dialectNames)[number];

/** Hosts whose dialect is certain. */
const hosts: readonly (readonly [host: RegExp, dialect: DialectName])[] = [
  [/^api\.openai\.com$/, 'openai'],
  [/\.(openai|services\.ai)\.azure\.com$/, 'azure'],
  [/^bedrock-[a-z-]+\.[a-z0-9-]+\.(amazonaws\.com|api\.aws)$/, 'bedrock'],
  [/^api\.deepseek\.com$/, 'deepseek'],
  [/^generativelanguage\.googleapis\.com$/, 'gemini'],
  [/^([a-z0-9-]+-)?aiplatform\.googleapis\.com$/, 'gemini'],
  [/^api\.(moonshot\.(ai|cn)|kimi\.com)$/, 'kimi'],
  [/^api\.(minimax\.io|minimax\.chat|minimaxi\.com)$/, 'minimax'],
  [/^api\.mistral\.ai$/, 'mistral'],
  [/^openrouter\.ai$/, 'openrouter'],
];

/** The dialect of the provider at this URL, if its host shows it. */
export function dialectOfHost(baseUrl: string): DialectName | undefined {
  const { hostname } = new URL(baseUrl);
  return hosts.find(([host]) => host.test(hostname))?.[1];
}
