import { BugError, FencedError } from '@caribou/contracts';
import type { CallState, JournaledCall, ToolJournal, ToolOutcome } from '@caribou/core';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';
import { parseStored } from '../redis/stored-json.js';
import { resultText } from './stored-result.js';

const scripts = {
  start: loadScript('executions/start-call'),
  end: loadScript('executions/end-call'),
  withdraw: loadScript('executions/withdraw-call'),
};

/** Records tool calls with an effect outside of the thread. Entries expire some time after their run ended. */
export function redisToolJournal(redis: RedisConnection): ToolJournal {
  const entryKey = (call: JournaledCall): string => redis.keys.executionPrefix(call) + call.key;
  return {
    async start(call) {
      const { lease, executions, owner } = redis.keys.thread(call);
      const args = [String(call.epoch), call.key, call.argsHash, String(call.attempt)];
      const reply = await redis.run(scripts.start, [entryKey(call), lease, executions, owner], args);
      const [state, text = ''] = reply as [string, string?];
      if (state === 'fenced') throw toFencedError('begun', text, call);
      return stateOf(state, text);
    },
    async finish(call, outcome) {
      const text = resultText(outcome, 'the outcome of a tool call');
      const reply = await redis.run(scripts.end, [entryKey(call)], [String(call.epoch), text]);
      const [state, reason = ''] = reply as [string, string?];
      if (state === 'fenced') throw toFencedError('ended', reason, call);
    },
    async withdraw(call) {
      const { executions } = redis.keys.thread(call);
      const reply = await redis.run(scripts.withdraw, [entryKey(call), executions], [String(call.epoch), call.key]);
      const [state, reason = ''] = reply as [string, string?];
      if (state === 'fenced') throw toFencedError('withdrawn', reason, call);
    },
  };
}

const toFencedError = (what: string, reason: string, { key }: JournaledCall): FencedError =>
  new FencedError(`the tool call may not be ${what}: ${reason}`, { details: { key } });

function stateOf(state: string, text: string): CallState {
  switch (state) {
    case 'new':
    case 'unknown':
    case 'mismatch':
      return { state };
    case 'done':
      return { state: 'done', outcome: parseStored<ToolOutcome>(text) };
    default:
      throw new BugError(`unknown reply of the tool journal: ${state}`);
  }
}
