import type { AiMessage, ThreadState } from '@caribou/contracts';
import type { AgentMiddleware } from '@caribou/core';
import { humanMessage } from '@caribou/testing';
import { z } from 'zod';
import { defineMiddleware } from '../custom-middleware.js';
import type { MiddlewareDefinition } from '../public-types.js';

export const Counted = z.object({ count: z.int() });
export type Counted = z.infer<typeof Counted>;
export type ProbeHooks = Omit<MiddlewareDefinition<Counted>, 'name' | 'state'>;

/** A custom middleware with these hooks, whose state is a count. */
export const createProbe = (hooks: ProbeHooks): AgentMiddleware =>
  defineMiddleware({ name: 'probe', state: Counted, ...hooks }).middleware;

export const answer = (over: Partial<AiMessage> = {}): AiMessage => ({
  type: 'ai',
  id: 'a1',
  content: 'hello',
  additional_kwargs: {},
  response_metadata: {},
  tool_calls: [],
  invalid_tool_calls: [],
  ...over,
});

export const state: ThreadState = {
  messages: [humanMessage('hi', 'h1')],
  guards: { secret: 1 },
  extensions: { probe: { count: 2 } },
};
