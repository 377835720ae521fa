import { z } from 'zod';
import { ApprovalsFile } from './approvals-schema.js';
import { integer, ms } from './kinds/setting-kinds.js';
import { SubagentsFile } from './subagents-schema.js';

/**
 * The sections of config.yaml for middlewares. Keys, units and defaults are those of DeerFlow's newest version where it
 * has them.
 */

const on = (description: string) => z.boolean().default(true).describe(description);
const share = (fallback: number) => z.number().gt(0).max(1).default(fallback);

/** A part of a conversation; `fraction` is of the model's max_input_tokens and never applies when that is unknown. */
export const ContextSize = z.discriminatedUnion('type', [
  z.object({ type: z.literal('tokens'), value: z.int().min(1) }),
  z.object({ type: z.literal('messages'), value: z.int().min(1) }),
  z.object({ type: z.literal('fraction'), value: z.number().gt(0).max(1) }),
]);
export type ContextSize = z.infer<typeof ContextSize>;

export const SummarizationFile = z
  .object({
    enabled: z.boolean().default(false).describe('Replace the older part of a long conversation by a summary'),
    model_name: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe('Model that summarizes; null: the model of the run'),
    trigger: z
      .union([ContextSize, z.array(ContextSize).max(10)])
      .nullable()
      .default({ type: 'tokens', value: 32_000 })
      .describe('When: {type: tokens, messages or fraction, value}, or a list of which any one fires'),
    keep: ContextSize.default({ type: 'messages', value: 10 }).describe(
      'The newest part, which is not summarized; the latest user message never is',
    ),
    trim_tokens_to_summarize: z
      .int()
      .min(500)
      .max(1_000_000)
      .nullable()
      .default(15_564)
      .describe('Tokens shown to the model that summarizes; null: all'),
    summary_prompt: z
      .string()
      .max(20_000)
      .nullable()
      .default(null)
      .describe('Instructions for the summary; null: the built-in ones'),
  })
  .describe('Summaries of long conversations');

export const TokenUsageFile = z
  .object({ enabled: on('Log the tokens of each answer and say in the message what they were for') })
  .describe('Token accounting; totals of runs and threads are stored in any case');

export const ToolSearchFile = z
  .object({
    enabled: z.boolean().default(false).describe('Hide tools that are marked deferred until the agent looks them up'),
    auto_promote_top_k: integer(3, 1, 5).describe('Tools shown unasked when their keywords are in the message'),
  })
  .describe('Tool search');

export const ToolOutputFile = z
  .object({
    enabled: on('Write large results of tools to a file and show the model their beginning and end'),
    externalize_min_chars: integer(12_000, 1_000, 10_000_000).describe('Characters from which a result goes to a file'),
    preview_head_chars: integer(2_000, 0, 100_000).describe('Characters shown of its beginning'),
    preview_tail_chars: integer(1_000, 0, 100_000).describe('Characters shown of its end'),
    fallback_max_chars: integer(30_000, 1_000, 10_000_000).describe(
      'Characters from which a result is cut when no file can be written',
    ),
    fallback_head_chars: integer(8_000, 0, 100_000).describe('Characters of its beginning that remain then'),
    fallback_tail_chars: integer(3_000, 0, 100_000).describe('Characters of its end that remain then'),
    exempt_tools: z.array(z.string()).max(200).default(['read_file']).describe('Tools whose results are shown whole'),
  })
  .describe('Results of tools');

export const LoopDetectionFile = z
  .object({
    enabled: on('Notice an agent that repeats itself'),
    warn_threshold: integer(3, 1, 100).describe('The same calls this often: the agent is warned'),
    hard_limit: integer(5, 2, 200).describe('The same calls this often: they are not made, the run ends'),
    window_size: integer(20, 2, 200).describe('Latest rounds of calls that are compared'),
    tool_freq_warn: integer(30, 1, 1_000).describe('Calls of one tool among the last ones: the agent is warned'),
    tool_freq_hard_limit: integer(50, 2, 2_000).describe(
      'Calls of one tool among as many last ones: they are not made, the run ends',
    ),
    tool_freq_overrides: z
      .record(z.string(), z.object({ warn: z.int().min(1), hard_limit: z.int().min(2) }))
      .default({})
      .describe('Other limits by tool: {name: {warn, hard_limit}}'),
  })
  .describe('Loop detection');

export const TokenBudgetFile = z
  .object({
    enabled: z.boolean().default(false).describe('Limit the tokens of a run with its subagents'),
    max_tokens: z.int().min(1).nullable().default(200_000).describe('Tokens of a run; null: no limit'),
    max_input_tokens: z.int().min(1).nullable().default(null).describe('Input tokens of a run; null: no limit'),
    max_output_tokens: z.int().min(1).nullable().default(null).describe('Output tokens of a run; null: no limit'),
    warn_threshold: share(0.8).describe('Share of the limit at which the agent is warned'),
    hard_stop_threshold: share(1).describe('Share of the limit at which the agent must answer'),
  })
  .describe('Token budget of a run');

export const LlmCallFile = z
  .object({
    max_concurrent_calls: integer(0, 0, 100_000).describe('Calls of one model at once, over all runners; 0: no limit'),
    retry_max_attempts: integer(3, 1, 20).describe('Attempts of one model call, the first included'),
    retry_base_delay_ms: integer(1_000, 1, 600_000).describe('First wait before a retry'),
    retry_cap_delay_ms: integer(8_000, 1, 600_000).describe('Longest wait before a retry'),
    burst_retry_base_delay_ms: integer(5_000, 1, 600_000).describe('First wait when the provider asks for fewer calls'),
    fallback_after_ms: integer(10_000, 0, 3_600_000).describe(
      'A model that has fallbacks and asks for a longer wait than this is not called again; a fallback is',
    ),
    show_provider_error: z
      .boolean()
      .default(false)
      .describe(
        'Show users what the provider wrote about a failed call, at most 2 KiB without keys; the log always has it',
      ),
  })
  .describe('Model calls');

export const CircuitBreakerFile = z
  .object({
    failure_threshold: integer(5, 1, 1_000).describe(
      'Failed calls of a model in a row that stop further ones; all runners count together',
    ),
    recovery_timeout_sec: integer(60, 1, 86_400).describe(
      'Seconds until one trial call may check whether the model works again',
    ),
  })
  .describe('Circuit breaker per provider and model');

export const ReadBeforeWriteFile = z
  .object({ enabled: on('Refuse to overwrite or edit a file that the agent has not read as it is') })
  .describe('Read before write');

export const SafetyFinishReasonFile = z
  .object({ enabled: on("Do not carry out tool calls of an answer that the provider's filter broke off") })
  .describe('Answers that a filter broke off');

export const ClarificationFile = z
  .object({ enabled: on('The agent may end a run with a question to the user') })
  .describe('Clarification');

export const InputSanitizationFile = z
  .object({ enabled: on('Mark user messages as such and defuse framework tags in them, in requests to the model') })
  .describe('Forged framework tags');

export const ClientMessagesFile = z
  .object({
    edit_answers: z
      .boolean()
      .default(true)
      .describe(
        "Whether users may give answers and tools' results of their threads another content and remove messages, by a state update; metadata.message_edits: false of a thread refuses it there",
      ),
    trust_system: z
      .boolean()
      .default(false)
      .describe(
        'System and developer messages of clients join the system prompt as they are, in all later turns too; off: the model gets them as user messages',
      ),
  })
  .describe('Messages of clients; input_sanitization must be on for them to become user messages');

export const GoalsFile = z
  .object({
    enabled: on('Users may set a goal for a thread, which the agent pursues over several answers of a run'),
    model_name: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe('Model that judges whether a goal is reached; null: the model of the run'),
    max_continuations: integer(8, 0, 100).describe(
      'How often the agent continues by itself for one goal; a request may ask for fewer',
    ),
    max_no_progress_continuations: integer(2, 1, 20).describe(
      'Evaluations in a row that find nothing new, after which it stops',
    ),
    timeout_ms: ms(30_000, 300_000).describe('Longest wait for a verdict'),
  })
  .describe('Goals of threads');

export const MemoryFile = z
  .object({
    enabled: on('Remember facts of conversations'),
    debounce_seconds: integer(30, 1, 300).describe('Silence in a thread before facts are extracted from it'),
    model_name: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe('Model that extracts facts; null: the default model'),
    max_facts: integer(100, 10, 500).describe('Facts of one memory; above it the least certain are removed'),
    fact_confidence_threshold: z
      .number()
      .min(0)
      .max(1)
      .default(0.7)
      .describe('Facts the model is less sure of are not stored'),
    injection_enabled: on('Show the agent what is remembered'),
    max_injection_tokens: integer(2_000, 100, 8_000).describe('Tokens of the memory in the prompt'),
    worker_slots: integer(4, 1, 64).describe('Threads that one memory-worker processes at once'),
    model_timeout_ms: integer(120_000, 1_000, 600_000).describe('Longest call of the model that extracts facts'),
    max_attempts: integer(5, 1, 100).describe(
      'Attempts on a thread before it is dead-lettered; failures because the model is unavailable do not count',
    ),
    retry_base_delay_ms: integer(30_000, 1, 600_000).describe('First wait before another attempt; it doubles'),
    retry_cap_delay_ms: integer(300_000, 1, 3_600_000).describe('Longest wait before another attempt'),
    give_up_after_hours: integer(24, 1, 720).describe('Hours of failed attempts after which a thread is dead-lettered'),
  })
  .describe('Memory');

const Use = z
  .string()
  .max(1_000)
  .regex(/^[^#]+#[A-Za-z_$][\w$]*$/, 'must be a file and the name of its export, such as ./audit.mjs#audit');
const Options = z.record(z.string(), z.unknown()).default({});

export const ExtensionsFile = z
  .object({
    middlewares: z
      .array(z.union([Use.transform((use) => ({ use, options: {} })), z.object({ use: Use, options: Options })]))
      .max(50)
      .prefault([])
      .describe(
        'Your middlewares: "./file.mjs#name", or {use, options}; paths are relative to this file (docs/custom-middleware.md)',
      ),
  })
  .describe('Your own code');

/** Sections of the middlewares, by their key in the file. */
export const chainSections = {
  summarization: SummarizationFile,
  token_usage: TokenUsageFile,
  tool_search: ToolSearchFile,
  tool_output: ToolOutputFile,
  loop_detection: LoopDetectionFile,
  token_budget: TokenBudgetFile,
  llm_call: LlmCallFile,
  circuit_breaker: CircuitBreakerFile,
  subagents: SubagentsFile,
  read_before_write: ReadBeforeWriteFile,
  safety_finish_reason: SafetyFinishReasonFile,
  clarification: ClarificationFile,
  input_sanitization: InputSanitizationFile,
  client_messages: ClientMessagesFile,
  approvals: ApprovalsFile,
  goals: GoalsFile,
  memory: MemoryFile,
  extensions: ExtensionsFile,
} as const;

type Sections = typeof chainSections;

/** The parsed sections; inner keys stay in snake_case. */
export type ChainConfig = { readonly [K in keyof Sections]: z.output<Sections[K]> };
