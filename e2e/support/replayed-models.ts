import type { ProviderReplay } from '../../tools/provider-replay/framework/replay.js';
import { startProviderReplay } from '../../tools/provider-replay/framework/server.js';
import { vendorNamed } from '../../tools/provider-replay/vendors.js';

const KEY = 'key-1234567890abcdef';

/** A model of a provider: its strict server, and the further keys of its entry in config.yaml. */
interface ReplayedModel {
  readonly vendor: string;
  readonly entry: Readonly<Record<string, unknown>>;
}

const thoughts = { google: { thinking_config: { include_thoughts: true } } };

/** Models by the names of their entries. */
export const replayedModels = {
  openai: { vendor: 'openai', entry: { dialect: 'openai', model: 'gpt-5.6' } },
  responses: {
    vendor: 'openai-responses',
    entry: { use_responses_api: true, model: 'gpt-5.6', reasoning: { effort: 'low', summary: 'auto' } },
  },
  anthropic: { vendor: 'anthropic', entry: { use: 'langchain_anthropic:ChatAnthropic', model: 'claude-opus-5-5' } },
  gemini: {
    vendor: 'gemini',
    entry: { dialect: 'gemini', model: 'gemini-3-pro', extra_body: { extra_body: thoughts } },
  },
  deepseek: { vendor: 'deepseek', entry: { dialect: 'deepseek', model: 'deepseek-v4-pro' } },
  kimi: { vendor: 'kimi', entry: { dialect: 'kimi', model: 'kimi-k2.6' } },
  minimax: { vendor: 'minimax', entry: { dialect: 'minimax', model: 'MiniMax-M3' } },
  vllm: { vendor: 'vllm', entry: { dialect: 'vllm', model: 'Qwen/Qwen3-32B' } },
  ollama: { vendor: 'ollama', entry: { dialect: 'ollama', model: 'qwen3:32b' } },
} as const satisfies Readonly<Record<string, ReplayedModel>>;
export type ReplayedModelName = keyof typeof replayedModels;

export interface Replays {
  /** The section `models` of config.yaml. */
  readonly config: string;
  at(name: ReplayedModelName): ProviderReplay;
  stop(): Promise<void>;
}

/** Starts a strict server for each of the models; their streams are cut at awkward bytes. */
export async function startReplays(): Promise<Replays> {
  const names = Object.keys(replayedModels) as ReplayedModelName[];
  const started = new Map(
    await Promise.all(
      names.map(async (name, index) => {
        const vendor = vendorNamed(replayedModels[name].vendor);
        return [name, await startProviderReplay({ vendor, apiKey: KEY, cutSeed: index + 1 })] as const;
      }),
    ),
  );
  const at = (name: ReplayedModelName): ProviderReplay => {
    const replay = started.get(name);
    if (replay === undefined) throw new Error(`no server for ${name}`);
    return replay;
  };
  const entries = names.map((name) => ({
    name,
    base_url: at(name).baseUrl,
    api_key: KEY,
    supports_thinking: true,
    ...replayedModels[name].entry,
  }));
  return {
    config: `models: ${JSON.stringify(entries)}\n`,
    at,
    stop: async () => {
      await Promise.all([...started.values()].map((replay) => replay.close()));
    },
  };
}
