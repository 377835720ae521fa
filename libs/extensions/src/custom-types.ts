import type { AgentMiddleware, AnyTool, ModelModule } from '@caribou/core';
import type { Speaker } from './given-step.js';
import type { OwnState } from './own-state.js';

/** A middleware made by the toolkit, recognized by its class: nothing else can become part of the chain. */

export class CustomMiddleware {
  constructor(readonly middleware: AgentMiddleware) {}
}

/** The owner of a tool: a middleware, or the tool itself. */
export type ToolOwner = Pick<Speaker, 'kind' | 'name'>;

/** A tool made by the toolkit; `bind` creates the agent's tool for its owner. */
export class CustomTool<Own> {
  constructor(
    readonly name: string,
    readonly bind: (owner: ToolOwner, own: OwnState<Own>) => AnyTool,
  ) {}
}

/** A model made by the toolkit. */
export class CustomModel {
  constructor(readonly module: ModelModule) {}
}
