import { ConflictError } from '@caribou/contracts';
import { LRUCache } from 'lru-cache';
import type { Execution } from './execution.js';

const MAX_ENTRIES = 10_000;
const MAX_BYTES = 64 * 1024 * 1024;
const TTL_MS = 3_600_000;

interface Finished {
  readonly argsHash: string;
  readonly reply: unknown;
}

/**
 * Executions of this process with their replies, for the case that the journal loses its newest writes and a caller
 * repeats its request. Holds the newest 10,000 (`maxEntries`) of the last hour, within 64 MiB.
 */
export class FinishedExecutions {
  private readonly finished: LRUCache<string, Finished>;

  constructor(maxEntries = MAX_ENTRIES) {
    this.finished = new LRUCache({
      max: maxEntries,
      maxSize: MAX_BYTES,
      ttl: TTL_MS,
      sizeCalculation: ({ reply }) => 1 + Buffer.byteLength(JSON.stringify(reply)),
    });
  }

  /** Bytes of the replies. */
  readonly bytes = { used: (): number => this.finished.calculatedSize, limit: MAX_BYTES };

  add<Reply>(execution: Execution<Reply>, reply: Reply): void {
    this.finished.set(nameOf(execution), { argsHash: execution.argsHash, reply });
  }

  /** @throws {ConflictError} when the key was executed with other arguments */
  find<Reply>(execution: Execution<Reply>): { readonly reply: Reply } | undefined {
    const known = this.finished.get(nameOf(execution));
    if (known === undefined) return undefined;
    if (known.argsHash !== execution.argsHash) throw createArgumentsConflict(execution.key);
    return { reply: execution.parse(known.reply) };
  }
}

export const createArgumentsConflict = (key: string): ConflictError =>
  new ConflictError('the key was used with other arguments', { details: { key } });

const nameOf = ({ thread: { userId, threadId }, key }: Execution<unknown>): string => `${userId}/${threadId}/${key}`;
