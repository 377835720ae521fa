import { BugError, FencedError, TooLargeError } from '@caribou/contracts';
import type { ExecutionEntry, ExecutionJournal, ExecutionState, SandboxThread } from '@caribou/core';
import type { RedisConnection } from './connection.js';
import { loadScript } from './scripts.js';
import { parseStored } from './stored-json.js';

export interface JournalOptions {
  /** How long an entry is kept after its last write, default 24 h; at least as long as the events of a run. */
  readonly ttlMs?: number;
}

const MAX_RESULT_BYTES = 2 * 1024 * 1024;

const scripts = { start: loadScript('start-execution'), end: loadScript('end-execution') };

/** What was executed in the sandboxes of threads, and what came of it. */
export function redisExecutionJournal(
  redis: RedisConnection,
  { ttlMs = 24 * 3_600_000 }: JournalOptions = {},
): ExecutionJournal {
  const keysOf = (thread: SandboxThread, key: string): string[] => {
    const { lease, sandbox, executions } = redis.keys.thread(thread);
    return [redis.keys.executionPrefix(thread) + key, lease, sandbox, executions];
  };

  async function ask(thread: SandboxThread, entry: ExecutionEntry, write: boolean): Promise<ExecutionState> {
    const { key, argsHash, kind, epoch, managerId, sandboxId } = entry;
    const reply = await redis.run(scripts.start, keysOf(thread, key), [
      write ? 1 : 0,
      String(epoch),
      managerId,
      sandboxId,
      key,
      argsHash,
      kind,
      ttlMs,
    ]);
    const [outcome, text] = reply as [string, string];
    if (outcome === 'fenced') throw new FencedError(`the execution may not be entered: ${text}`, { details: { key } });
    return stateOf(outcome, text);
  }

  async function end(
    thread: SandboxThread,
    key: string,
    by: string,
    outcome: { startedBy: string; result: unknown },
  ): Promise<string> {
    const text = JSON.stringify(outcome.result ?? null);
    if (Buffer.byteLength(text) > MAX_RESULT_BYTES) {
      throw new TooLargeError('the result of an execution is too large', { details: { limitBytes: MAX_RESULT_BYTES } });
    }
    const reply = await redis.run(scripts.end, keysOf(thread, key), [by, outcome.startedBy, text, ttlMs]);
    const [kind, kept] = reply as [string, string];
    if (kind === 'fenced') throw new FencedError(`the execution may not be ended: ${kept}`, { details: { key } });
    return kept;
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
  };
}

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
