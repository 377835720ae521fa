/** A model of each vendor of chat completions that thinks and calls tools. */
export const THINKING_MODELS = {
  azure: 'my-deployment',
  bedrock: 'openai.gpt-oss-120b-1:0',
  deepseek: 'deepseek-v4-pro',
  gemini: 'gemini-3.5-flash',
  kimi: 'kimi-k2.6',
  minimax: 'MiniMax-M2.7',
  mistral: 'magistral-medium-latest',
  ollama: 'qwen3.5:27b',
  openai: 'gpt-5.2',
  openrouter: 'anthropic/claude-sonnet-5',
  vllm: 'Qwen/Qwen3.5-27B',
};

export type ChatVendorName = keyof typeof THINKING_MODELS;

export const CHAT_VENDORS = Object.keys(THINKING_MODELS) as ChatVendorName[];
