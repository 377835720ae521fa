import type { AgentMiddleware, AnyTool } from '@caribou/core';
import type { OwnState } from './own-state.js';

/** What the toolkit makes of definitions, known by its class: nothing else becomes a part of the chain. */

export class CustomMiddleware {
  constructor(readonly middleware: AgentMiddleware) {}
}

/** A tool of custom code; it becomes a tool of the agent with the middleware that brings it. */
export class CustomTool<Own> {
  constructor(readonly bind: (middleware: string, own: OwnState<Own>) => AnyTool) {}
}
