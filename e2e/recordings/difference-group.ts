import type { ScriptName } from './frames.js';

/** Ways in which Caribou differs from the recorded peer, with the one reason they share and the scripts that show them. */
export interface DifferenceGroup {
  readonly reason: string;
  readonly scripts: readonly ScriptName[];
  /** `+` only Caribou's, `-` only the peer's, `~` both but different (single-differences.ts). */
  readonly differences: readonly string[];
}

export const ANSWERED: readonly ScriptName[] = ['plain-text', 'one-tool', 'parallel-tools'];
export const WITH_TOOLS: readonly ScriptName[] = ['one-tool', 'parallel-tools'];
export const FAILED: readonly ScriptName[] = ['model-failure'];
export const CANCELLED: readonly ScriptName[] = ['cancel-midstream'];
/** The model node came to its end, with an answer or with the fallback. */
export const ENDED: readonly ScriptName[] = [...ANSWERED, ...FAILED];
/** At least one delta of the model was shown. */
export const STREAMED: readonly ScriptName[] = [...ANSWERED, ...CANCELLED];
export const EVERY: readonly ScriptName[] = [...ENDED, ...CANCELLED];

export const lacks = (thing: string, ...keys: string[]): string[] => keys.map((key) => `- ${thing}.${key}`);
export const has = (thing: string, ...keys: string[]): string[] => keys.map((key) => `+ ${thing}.${key}`);

/** Facts about the peer's deployment and libraries, found in metadata everywhere. */
export const DEPLOYMENT = [
  'created_by',
  'langgraph_api_url',
  'langgraph_host',
  'langgraph_plan',
  'langgraph_version',
  'ls_integration',
];

/** In whole messages, at any path. */
export const MESSAGE_DIFFERENCES: readonly DifferenceGroup[] = [
  {
    reason: 'What the provider said about its answer has the names of OpenAI; usage is there once, in usage_metadata.',
    scripts: ANSWERED,
    differences: has('ai message.response_metadata', 'finish_reason', 'model_name', 'system_fingerprint'),
  },
  {
    reason:
      "The same, seen from the other side: the peer puts its library and a second copy of the usage there. Its `name` is the constant 'model', and optional.",
    scripts: ANSWERED,
    differences: [...lacks('ai message.response_metadata', 'model_provider', 'usage'), ...lacks('ai message', 'name')],
  },
  {
    reason: "Tool calls stand once, in tool_calls; no client reads the copy in the provider's own shape.",
    scripts: WITH_TOOLS,
    differences: lacks('ai message.additional_kwargs', 'tool_calls'),
  },
  { reason: "Versions of the peer's libraries.", scripts: WITH_TOOLS, differences: lacks('tool message', 'metadata') },
  {
    reason: 'An answer says what its tokens were for.',
    scripts: ANSWERED,
    differences: has('ai message.additional_kwargs', 'token_usage_attribution'),
  },
  {
    reason: 'What read_file shows is marked with the hash of the file, so that no change is made to another one.',
    scripts: ['parallel-tools'],
    differences: has('tool message.additional_kwargs', 'file_mark'),
  },
];
