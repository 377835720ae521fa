import { type AgentMiddleware, stateSlot } from '@caribou/core';
import { lastAnswer } from '../messages/answer.js';
import { callSetOf } from './call-set.js';
import { createHiddenMessage } from '../messages/hidden-message.js';
import { clearWarnings, type Finding, type LoopLimits, LoopMemory, memoryOf, recordCalls } from './loop-memory.js';
import { hasCalls, toStoppedAnswer } from '../messages/strip-tool-calls.js';

const NAME = 'loop-detection';
const slot = stateSlot('guards', NAME, LoopMemory);

export type LoopDetectionOptions = Partial<LoopLimits>;

const DEFAULTS: LoopLimits = {
  warn_threshold: 3,
  hard_limit: 5,
  window_size: 20,
  tool_freq_warn: 30,
  tool_freq_hard_limit: 50,
  tool_freq_overrides: {},
};

/**
 * Detects an agent that repeats itself, across the runs of a thread: first it is warned, later its calls are not
 * executed and the run ends.
 *
 * A warning is queued in the thread until the next model call and then added to the thread as a hidden message, after the
 * results of the calls, whose pairing it would break otherwise. It stays there, so that later requests begin with the one
 * that had it first.
 */
export function loopDetection(options: LoopDetectionOptions = {}): AgentMiddleware {
  const limits = { ...DEFAULTS, ...options };
  return {
    name: NAME,
    beforeModel(state, run) {
      const memory = memoryOf(slot.read(state), run.runId);
      const { queue } = memory.run;
      if (queue.length === 0) return Promise.resolve(undefined);
      const text = queue.map((finding) => warningText(finding, limits)).join('\n');
      const messages = [createHiddenMessage('loop_warning', text)];
      return Promise.resolve({ update: { messages, ...slot.write(clearWarnings(memory)) } });
    },
    afterModel(state, run) {
      const before = memoryOf(slot.read(state), run.runId);
      const message = lastAnswer(state);
      if (message === undefined || !hasCalls(message)) return Promise.resolve(undefined);
      const { memory, stop } = recordCalls(before, callSetOf(message), limits);
      const update = slot.write(memory);
      if (stop === undefined) {
        const queued = memory.run.queue.length;
        if (queued > 0) run.recordDecision(NAME, 'warned', { count: queued });
        return Promise.resolve({ update });
      }
      run.recordDecision(NAME, 'stopped', { kind: stop.kind, count: stop.count });
      const messages = [toStoppedAnswer(message, stopText(stop), 'loop_capped')];
      return Promise.resolve({ update: { ...update, messages }, stopReason: 'loop_capped' });
    },
  };
}

const warningText = ({ kind, tool, count }: Finding, limits: LoopLimits): string =>
  kind === 'repeated'
    ? `[LOOP WARNING] The same set of tool calls (${tool}) was made ${count} times; its results will not change. ` +
      `Work with what you have, try another way, or answer. At ${limits.hard_limit} times the run is stopped.`
    : `[LOOP WARNING] ${tool} was called ${count} times lately. Ask whether you still come closer to the goal, ` +
      'and put the calls that are left into fewer ones, or answer with what you found.';

const stopText = ({ kind, tool, count }: Finding): string =>
  kind === 'repeated'
    ? `[FORCED STOP] The same tool calls (${tool}) were asked for ${count} times. They were not made again, and the run ` +
      'ends here with what was found so far.'
    : `[FORCED STOP] ${tool} was called ${count} times in a short while. It was not called again, and the run ends here ` +
      'with what was found so far.';
