import type { RunContextValues } from '@caribou/contracts';
import { type AgentMiddleware, runSlot } from '@caribou/core';
import { z } from 'zod';
import { lastAnswer, withNote } from '../messages/answer.js';
import { callIds, stoppedAnswer, withoutCalls } from '../messages/strip-tool-calls.js';

const NAME = 'subagent-limit';
const TASK = 'task';
const STOP_REASON = 'subagent_limit_capped';
/** Tasks that were let through in this run. */
const slot = runSlot(NAME, z.int().min(0));

export interface SubagentLimits {
  /** Tasks of one answer that are carried out, 1 to 4; a run may ask for another number. */
  readonly max_concurrent: number;
  /** Tasks of one run, 1 to 50; a run may ask for another number. */
  readonly max_total_per_run: number;
}

export type SubagentLimitOptions = Partial<SubagentLimits>;

const DEFAULTS: SubagentLimits = { max_concurrent: 3, max_total_per_run: 6 };

/**
 * Lets the first `task` calls of an answer through and drops the others without a word: their prompt says so, and the
 * model hands the rest over in its next answer. When the run may have no further task, the answer says that, and the
 * run ends unless other calls are left. Stands before loop-detection in the list, so its hook runs after: loops are
 * told by what was asked for.
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
      if (dropped.size > 0) run.decided(NAME, 'dropped', { count: dropped.size, used });
      if (left > 0) {
        const counted = slot.write(used + tasks.length - dropped.size, run);
        const messages = dropped.size === 0 ? [] : [withoutCalls(message, dropped)];
        return Promise.resolve({ update: { ...counted, messages } });
      }
      if (callIds(message).size === dropped.size)
        return Promise.resolve({
          update: { messages: [stoppedAnswer(message, noteOf(total), STOP_REASON)] },
          stopReason: STOP_REASON,
        });
      const stripped = withoutCalls(message, dropped);
      const content = withNote(stripped.content, noteOf(total));
      return Promise.resolve({ update: { messages: [{ ...stripped, content }] } });
    },
  };
}

/** The limits of a run: what its request asks for, else the configuration, clamped to 1 to 4 and 1 to 50. */
export function subagentLimits(
  { max_concurrent, max_total_per_run }: SubagentLimits,
  context: RunContextValues,
): { readonly concurrent: number; readonly total: number } {
  return {
    concurrent: clamped(context.max_concurrent_subagents ?? max_concurrent, 4),
    total: clamped(context.max_total_subagents ?? max_total_per_run, 50),
  };
}

const clamped = (value: number, max: number): number => Math.min(max, Math.max(1, Math.trunc(value)));

const noteOf = (total: number): string =>
  `[SUBAGENT LIMIT REACHED] This run has handed over ${total} tasks, as many as it may. No further task was started; ` +
  'what the subagents found stands above.';
