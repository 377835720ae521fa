import type {
  AiMessage,
  CommandAudit,
  FileExpectation,
  Message,
  StateUpdate,
  ThreadState,
  ToolCall,
} from '@caribou/contracts';
import type { RunContext } from './run-context.js';
import type { AnyTool, ToolOutcome } from './tool.js';

/** Tokens of model calls, by who made them and the model's configured name. */
export interface CallUsage {
  readonly caller: 'lead_agent' | 'subagent' | 'middleware';
  readonly model: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** What a before/after hook decides: a change of state, and what becomes of the run. */
export interface Step {
  readonly update?: StateUpdate;
  /** The run ends (successfully) here; the hooks behind do not run. Not heard of `afterAgent`. */
  readonly end?: boolean;
  /** Of `afterModel`: the model is called again when nothing else is to be done, in the place of the run's end. */
  readonly again?: boolean;
  /** Of `beforeModel`: the update cost a call to another process, so it is committed before the model is called. */
  readonly durable?: boolean;
  /** Why the run stopped early; kept with the run when it ends after this turn. */
  readonly stopReason?: string;
  /** Of `afterAgent`: the run said something that memory may learn from; written with the run's end. */
  readonly remember?: boolean;
  /** Tokens of the hook's own model call. */
  readonly usage?: CallUsage;
}

/** One model call as the layers see it. Changing it changes this call only, never the thread. */
export interface ModelRequest {
  readonly model: string;
  readonly system: string;
  readonly messages: readonly Message[];
  readonly tools: readonly AnyTool[];
  /** 'none' forbids tool calls in this call. */
  readonly toolChoice?: 'auto' | 'none';
  readonly state: ThreadState;
}

/** One tool call as the layers see it; `tool` is undefined when the model named one that does not exist. */
export interface ToolCallRequest {
  readonly call: ToolCall;
  readonly tool: AnyTool | undefined;
  readonly state: ThreadState;
  /** What the rules said of the command it is about to run. */
  readonly audit?: CommandAudit;
  /** What the agent knows of the file it is about to change. */
  readonly expectedFile?: FileExpectation;
}

export type ModelCallNext = (request: ModelRequest) => Promise<AiMessage>;
export type ToolCallNext = (request: ToolCallRequest) => Promise<ToolOutcome>;

/**
 * A unit of behaviour around the loop: a pure core and thin hooks, no state between runs.
 * `before*` run in list order, `after*` in reverse; wraps nest with the first listed outermost.
 * Hooks return updates, they never mutate. An exception from a hook fails the run.
 */
export interface AgentMiddleware {
  /** Equals its file name; node names on the wire are `<name>.before_agent` and so on. */
  readonly name: string;
  /** Tools that come and go with it. */
  readonly tools?: readonly AnyTool[];
  /** Once per run. */
  beforeAgent?(state: ThreadState, run: RunContext): Promise<Step | undefined>;
  /** Before each model call; its update is part of the thread. */
  beforeModel?(state: ThreadState, run: RunContext): Promise<Step | undefined>;
  /** Around each model call; may answer without `next` or call it again after it settled. */
  wrapModelCall?(request: ModelRequest, next: ModelCallNext, run: RunContext): Promise<AiMessage>;
  /**
   * Whether `afterModel` is about to call another process: then the answer is committed before, and a runner that dies
   * meanwhile costs no second model call.
   */
  isSlowAfterModel?(state: ThreadState, run: RunContext): boolean;
  /** After each model call. */
  afterModel?(state: ThreadState, run: RunContext): Promise<Step | undefined>;
  /** Around each single tool call. */
  wrapToolCall?(request: ToolCallRequest, next: ToolCallNext, run: RunContext): Promise<ToolOutcome>;
  /** Once per run, on every outcome but a crash. */
  afterAgent?(state: ThreadState, run: RunContext): Promise<Step | undefined>;
}
