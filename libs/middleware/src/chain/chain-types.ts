import type { AgentMiddleware, ConversionStore, ModelGate, ModelPort, SandboxPort, Skill } from '@caribou/core';
import type { CommandPolicy } from '../command-rules/command-audit.js';
import type { ClarificationOptions } from '../conversation/clarification.js';
import type { DeferredToolOptions } from '../tool-search/deferred-tool-filter.js';
import type { InputSanitizationOptions } from '../conversation/input-sanitization.js';
import type { LlmErrorOptions } from '../model-calls/llm-error.js';
import type { LoopDetectionOptions } from '../limits/loop-detection.js';
import type { MemoryOptions } from '../conversation/memory.js';
import type { SafetyFinishOptions } from '../model-calls/safety-finish.js';
import type { SubagentLimitOptions } from '../limits/subagent-limit.js';
import type { SummarizationOptions } from '../summarization/summarization.js';
import type { TokenBudgetOptions } from '../limits/token-budget.js';
import type { ToolOutputLimits } from '../tool-calls/tool-output-limits.js';
import type { TitleOptions } from '../conversation/title.js';

export interface ChainPorts {
  readonly sandbox: SandboxPort;
  /** What is known of the Markdown of uploaded documents; without it none is named to the agent. */
  readonly conversions?: Pick<ConversionStore, 'read' | 'uploadsSince'>;
  /** The model of the run. */
  readonly model: ModelPort;
  /** Limits and circuit breakers that all processes share; without it there are none. */
  readonly gate?: ModelGate;
}

interface Switch {
  readonly enabled: boolean;
}

/** What a run and the configuration make of the chain. A middleware whose options are absent takes its defaults. */
export interface ChainOptions {
  /** The model reads images. */
  readonly vision?: boolean;
  readonly llmError?: LlmErrorOptions;
  /** Rules for shell commands; the ones that ship when absent. */
  readonly commands?: CommandPolicy;
  readonly summarization?: SummarizationOptions & {
    /** Writes summaries in the place of the run's model. */
    readonly model?: ModelPort;
  };
  readonly title?: TitleOptions;
  readonly inputSanitization?: Switch & InputSanitizationOptions;
  readonly toolOutput?: Switch & { readonly limits?: Partial<ToolOutputLimits> };
  readonly readBeforeWrite?: Switch;
  readonly tokenUsage?: Switch;
  readonly memory?: MemoryOptions;
  /** Deferred tools are hidden until they are looked up: the agent's own tools, and how many may show unasked. Absent: off. */
  readonly toolSearch?: DeferredToolOptions;
  readonly clarification?: ClarificationOptions;
  /** Middlewares of the operator, in the order of the config. */
  readonly custom?: readonly AgentMiddleware[];
  readonly safetyFinish?: SafetyFinishOptions;
  /** Of the user, those that are switched off included. Absent: none. */
  readonly skills?: readonly Skill[];
  /** The agent keeps a plan. */
  readonly planMode?: boolean;
  /** Limits of delegation; absent: the agent has no subagents. */
  readonly subagents?: SubagentLimitOptions;
  readonly loopDetection?: LoopDetectionOptions & Switch;
  /** Absent: off. */
  readonly tokenBudget?: TokenBudgetOptions & Switch;
}

/** One place of the chain: a middleware of ours, or those of the operator. */
export interface Place {
  readonly name: string;
  /** Why it stands here. */
  readonly reason: string;
  /** A subagent's chain has no such place. */
  readonly leadOnly?: true;
  /** Why these options leave it out; undefined: they do not. */
  readonly absent?: (options: ChainOptions) => string | undefined;
  readonly make: (ports: ChainPorts, options: ChainOptions) => readonly AgentMiddleware[];
}
