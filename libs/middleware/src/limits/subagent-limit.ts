import type { RunContextValues } from '@caribou/contracts';
import { type AgentMiddleware, runSlot } from '@caribou/core';
import { z } from 'zod';
import { lastAnswer, withNote } from '../messages/answer.js';
import { callIds, toStoppedAnswer, withoutCalls } from '../messages/strip-tool-calls.js';

const NAME = 'subagent-limit';
const TASK = 'task';
const STOP_REASON = 'subagent_limit_capped';
/** Number of tasks that were permitted in this run. */
const slot = runSlot(NAME, z.int().min(0));

export interface SubagentLimits {
  /** Maximum tasks of one answer, 1 to 4; a run may request another number. */
  readonly max_concurrent: number;
  /** Maximum tasks of one run, 1 to 50; a run may request another number. */
  readonly max_total_per_run: number;
}

export type SubagentLimitOptions = Partial<SubagentLimits>;

const DEFAULTS: SubagentLimits = { max_concurrent: 3, max_total_per_run: 6 };

/**
 * Permits the first `task` calls of an answer and silently drops the others: the prompt explains the limit, and the
 * model delegates the rest in its next answer. When the run's limit is reached, a note is added to the answer, and the
 * run ends unless other calls are left. It precedes loop-detection in the chain, so its hook runs after: loops are
 * detected by the requested calls.
 */
export function subagentLimit(options: SubagentLimitOptions = {}): AgentMiddleware {
  const limits = { ...DEFAULTS, ...options };
  return {
    name: NAME,
    afterModel(state, run) {
      const message = lastAnswer(state);
      const tasks = message?.tool_calls.filter(({ name }) => name === TASK) ?? [];
      if (message === undefined || tasks.length === 0) return Promise.resolve(undefined);
      const { concurrent, total } = subagentLimits(limits, run.context);
      const used = slot.read(state, run) ?? 0;
      const left = Math.max(0, total - used);
      const dropped = new Set(tasks.slice(Math.min(concurrent, left)).map(({ id }) => id));
      if (dropped.size > 0) run.recordDecision(NAME, 'dropped', { count: dropped.size, used });
      if (left > 0) {
        const counted = slot.write(used + tasks.length - dropped.size, run);
        const messages = dropped.size === 0 ? [] : [withoutCalls(message, dropped)];
        return Promise.resolve({ update: { ...counted, messages } });
      }
      if (callIds(message).size === dropped.size)
        return Promise.resolve({
          update: { messages: [toStoppedAnswer(message, noteOf(total), STOP_REASON)] },
          stopReason: STOP_REASON,
        });
      const stripped = withoutCalls(message, dropped);
      const content = withNote(stripped.content, noteOf(total));
      return Promise.resolve({ update: { messages: [{ ...stripped, content }] } });
    },
  };
}

/** The limits of a run: from its request, else the configuration, clamped to 1 to 4 and 1 to 50. */
export function subagentLimits(
  { max_concurrent, max_total_per_run }: SubagentLimits,
  context: RunContextValues,
): { readonly concurrent: number; readonly total: number } {
  return {
    concurrent: clamp(context.max_concurrent_subagents ?? max_concurrent, 4),
    total: clamp(context.max_total_subagents ?? max_total_per_run, 50),
  };
}

const clamp = (value: number, max: number): number => Math.min(max, Math.max(1, Math.trunc(value)));

const noteOf = (total: number): string =>
  `[SUBAGENT LIMIT REACHED] This run has handed over ${total} tasks, as many as it may. No further task was started; ` +
  'what the subagents found stands above.';
