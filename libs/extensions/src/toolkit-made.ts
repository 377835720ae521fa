import type { AgentMiddleware, AnyTool } from '@caribou/core';
import type { Speaker } from './given-step.js';
import type { OwnState } from './own-state.js';

/** What the toolkit makes of definitions, known by its class: nothing else becomes a part of the chain. */

export class CustomMiddleware {
  constructor(readonly middleware: AgentMiddleware) {}
}

/** Who brings a tool: a middleware, or itself. */
export type ToolOwner = Pick<Speaker, 'kind' | 'name'>;

/** A tool of custom code; it becomes a tool of the agent with whoever brings it. */
export class CustomTool<Own> {
  constructor(
    readonly name: string,
    readonly bind: (owner: ToolOwner, own: OwnState<Own>) => AnyTool,
  ) {}
}
