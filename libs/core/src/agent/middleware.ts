import type {
  AiMessage,
  CommandAudit,
  FileExpectation,
  Message,
  StateUpdate,
  ThreadState,
  ToolCall,
} from '@caribou/contracts';
import type { CallUsage } from '../usage/call-usage.js';
import type { RunContext } from './run-context.js';
import type { AnyTool, ToolOutcome } from './tool.js';

/** The result of a before/after hook: a state update and how the run continues. */
export interface Step {
  readonly update?: StateUpdate;
  /** The run ends (successfully) here and later hooks do not run. Ignored from `afterAgent`. */
  readonly end?: boolean;
  /** Result of `afterModel` or `beforeEnd`: the model is called again instead of ending the run. */
  readonly again?: boolean;
  /**
   * Result of `beforeModel`: the update required a call to another process, so it is committed before the model is
   * called.
   */
  readonly durable?: boolean;
  /** Why the run stopped early; stored with the run when it ends after this turn. */
  readonly stopReason?: string;
  /** Tokens of the hook's own model calls, also of those whose answer is not used. */
  readonly usage?: readonly CallUsage[];
}

/** A model call as the wrapping layers see it. Changes affect this call only, never the thread. */
export interface ModelRequest {
  readonly model: string;
  readonly system: string;
  readonly messages: readonly Message[];
  readonly tools: readonly AnyTool[];
  /** 'none' forbids tool calls in this call. */
  readonly toolChoice?: 'auto' | 'none';
  readonly state: ThreadState;
}

/** A tool call as the wrapping layers see it; `tool` is undefined when the model named one that does not exist. */
export interface ToolCallRequest {
  readonly call: ToolCall;
  readonly tool: AnyTool | undefined;
  readonly state: ThreadState;
  /** Verdict of the command rules on the command that the call is about to run. */
  readonly audit?: CommandAudit;
  /** Why a rule for commands requires that a person decides. */
  readonly approvalReason?: string;
  /** The content that the agent expects in the file it is about to change. */
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
  /** Equals its file name; node names sent to clients are `<name>.before_agent` and so on. */
  readonly name: string;
  /** Tools that are available while the middleware is in the chain. */
  readonly tools?: readonly AnyTool[];
  /** Once per run. */
  beforeAgent?(state: ThreadState, run: RunContext): Promise<Step | undefined>;
  /**
   * After a message joined a run under way, which is the last one of the conversation: what `beforeAgent` does for the message
   * that a run starts with. Called for each such message; `end` and `again` have no effect.
   */
  onJoined?(state: ThreadState, run: RunContext): Promise<Step | undefined>;
  /** Before each model call; its update is stored in the thread. */
  beforeModel?(state: ThreadState, run: RunContext): Promise<Step | undefined>;
  /** Around each model call; may answer without calling `next`, or call it again after it has settled. */
  wrapModelCall?(request: ModelRequest, next: ModelCallNext, run: RunContext): Promise<AiMessage>;
  /**
   * Whether `afterModel` is about to call another process: the answer is then committed first, so that no second model
   * call is needed when the runner dies meanwhile.
   */
  isSlowAfterModel?(state: ThreadState, run: RunContext): boolean;
  /** After each model call. */
  afterModel?(state: ThreadState, run: RunContext): Promise<Step | undefined>;
  /** Around each single tool call. */
  wrapToolCall?(request: ToolCallRequest, next: ToolCallNext, run: RunContext): Promise<ToolOutcome>;
  /** Whether `beforeEnd` is about to call another process: the answer is then committed first. */
  isSlowBeforeEnd?(state: ThreadState, run: RunContext): boolean;
  /**
   * Before a run succeeds that has called the model, unless it was stopped early, has no turn or budget left, or messages wait
   * to join it. With `again` its update is committed together with the decision to continue. After a takeover it may be
   * called again for the same answer.
   */
  beforeEnd?(state: ThreadState, run: RunContext): Promise<Step | undefined>;
  /** Once per run, on every outcome but a crash. */
  afterAgent?(state: ThreadState, run: RunContext): Promise<Step | undefined>;
}
