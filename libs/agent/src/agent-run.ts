import type { ThreadState } from '@caribou/contracts';
import type { AgentMiddleware, AnyTool, LoopHost, LoopPosition, ModelPort, RunContext } from '@caribou/core';

export interface LoopOptions {
  /** Maximum number of model turns of a run; the next one is refused. */
  readonly maxTurns: number;
  readonly interruptBefore?: '*' | readonly string[];
  readonly interruptAfter?: '*' | readonly string[];
}

export interface AgentRun {
  readonly chain: readonly AgentMiddleware[];
  readonly tools: readonly AnyTool[];
  readonly model: ModelPort;
  readonly systemPrompt: string;
  readonly options: LoopOptions;
  readonly host: LoopHost;
  readonly run: RunContext;
  /** State of the thread's head. */
  readonly state: ThreadState;
  /** Super-step number of the head; the first node has the next one. */
  readonly step: number;
  readonly position: LoopPosition;
  /** Model turns that this run committed before a takeover. */
  readonly turnsTaken?: number;
}
