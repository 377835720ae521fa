import type { ThreadState } from '@caribou/contracts';
import { type AgentMiddleware, isFinalAnswer, isUserMessage, userText } from '@caribou/core';

export interface MemoryOptions {
  readonly enabled?: boolean;
}

/**
 * Marks a run whose exchange memory may learn from. The store queues it with the run's end, and a worker reads the thread
 * later: the run never waits for that.
 */
export function memory({ enabled = true }: MemoryOptions = {}): AgentMiddleware {
  return {
    name: 'memory',
    afterAgent: (state, run) => {
      if (!enabled || !isMemorable(state)) return Promise.resolve(undefined);
      run.recordDecision('memory', 'handed over');
      run.queueForMemory();
      return Promise.resolve(undefined);
    },
  };
}

/** Whether a user message has a final answer: one without tool calls that is not an error message. */
export function isMemorable({ messages }: ThreadState): boolean {
  const asked = messages.findLastIndex((message) => isUserMessage(message) && userText(message).trim() !== '');
  return asked !== -1 && messages.slice(asked + 1).some(isFinalAnswer);
}
