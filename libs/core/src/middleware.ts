import type { AiMessage, CommandAudit, Message, StateUpdate, ThreadState, ToolCall } from '@caribou/contracts';
import type { RunContext } from './run-context.js';
import type { AnyTool, ToolOutcome } from './tool.js';

/** What a before/after hook decides: a change of state, and whether the run ends (successfully) here. */
export interface Step {
  readonly update?: StateUpdate;
  readonly end?: boolean;
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
  /** After each model call. */
  afterModel?(state: ThreadState, run: RunContext): Promise<Step | undefined>;
  /** Around each single tool call. */
  wrapToolCall?(request: ToolCallRequest, next: ToolCallNext, run: RunContext): Promise<ToolOutcome>;
  /** Once per run, on every outcome but a crash. */
  afterAgent?(state: ThreadState, run: RunContext): Promise<Step | undefined>;
}
