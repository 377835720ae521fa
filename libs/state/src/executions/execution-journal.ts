import { BugError, FencedError } from '@caribou/contracts';
import type { ExecutionEntry, ExecutionJournal, ExecutionState, ThreadKey } from '@caribou/core';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';
import { parseStored } from '../redis/stored-json.js';
import { resultText } from './stored-result.js';

const RESULT = 'the result of an execution';

const scripts = {
  start: loadScript('executions/start-execution'),
  end: loadScript('executions/end-execution'),
  withdraw: loadScript('executions/withdraw-execution'),
};

/** Records what was executed in the sandboxes of threads, with the results. Entries expire some time after their run ended. */
export function redisExecutionJournal(redis: RedisConnection): ExecutionJournal {
  const keysOf = (thread: ThreadKey, key: string): string[] => {
    const { sandbox, executions } = redis.keys.thread(thread);
    return [redis.keys.executionPrefix(thread) + key, sandbox, executions];
  };

  async function ask(thread: ThreadKey, entry: ExecutionEntry, write: boolean): Promise<ExecutionState> {
    const { key, argsHash, kind, epoch, managerId, sandboxId } = entry;
    const { lease, owner } = redis.keys.thread(thread);
    const reply = await redis.run(scripts.start, keysOf(thread, key), [
      write ? 1 : 0,
      String(epoch),
      managerId,
      sandboxId,
      key,
      argsHash,
      kind,
      lease,
      owner,
    ]);
    const [outcome, text] = reply as [string, string];
    if (outcome === 'fenced') throw toRefusalError('entered', text, key);
    return stateOf(outcome, text);
  }

  async function end(
    thread: ThreadKey,
    key: string,
    by: string,
    outcome: { startedBy: string; result: unknown },
  ): Promise<string> {
    const text = resultText(outcome.result, RESULT);
    const reply = await redis.run(scripts.end, keysOf(thread, key), [by, outcome.startedBy, text]);
    const [kind, stored] = reply as [string, string];
    if (kind === 'fenced') throw toRefusalError('ended', stored, key);
    return stored;
  }

  return {
    start: (thread, entry) => ask(thread, entry, true),
    peek: (thread, entry) => ask(thread, entry, false),
    finish: async (thread, key, { managerId, result }) => {
      await end(thread, key, '', { startedBy: managerId, result });
    },
    markUnknown: async (thread, key, { startedBy, by, result }) => ({
      result: parseStored(await end(thread, key, by, { startedBy, result })),
    }),
    find: async (thread, { key, argsHash }) => {
      const name = redis.keys.executionPrefix(thread) + key;
      const [hash, managerId, result] = await redis.use((client) =>
        client.hmget(name, 'args_hash', 'manager', 'result'),
      );
      if (hash === null || hash === undefined) return { state: 'new' };
      if (hash !== argsHash) return { state: 'mismatch' };
      return typeof result === 'string' ? stateOf('done', result) : stateOf('running', managerId ?? '');
    },
    withdraw: async (thread, { key, argsHash, kind, epoch }, result) => {
      const { lease, owner, executions } = redis.keys.thread(thread);
      const entry = redis.keys.executionPrefix(thread) + key;
      const args = [String(epoch), key, argsHash, kind, resultText(result, RESULT), lease, owner];
      const [outcome, text = ''] = (await redis.run(scripts.withdraw, [entry, executions], args)) as string[];
      if (outcome === 'withdrawn') return { state: 'withdrawn' };
      if (outcome === 'fenced') throw toRefusalError('withdrawn', text, key);
      const known = stateOf(outcome ?? '', text);
      if (known.state === 'new') throw new BugError('a new execution could not be withdrawn');
      return known;
    },
  };
}

/** The error for a refusal of a script, with the reason that callers compare. */
const toRefusalError = (what: string, reason: string, key: string): FencedError =>
  new FencedError(`the execution may not be ${what}: ${reason}`, {
    details: { key, reason: reason.replaceAll(' ', '_') },
  });

function stateOf(outcome: string, text: string): ExecutionState {
  switch (outcome) {
    case 'new':
    case 'mismatch':
      return { state: outcome };
    case 'running':
      return { state: 'running', managerId: text };
    case 'done':
      return { state: 'done', result: parseStored(text) };
    default:
      throw new BugError(`unknown reply of the execution journal: ${outcome}`);
  }
}
