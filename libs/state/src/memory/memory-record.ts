import {
  BugError,
  ConflictError,
  emptyMemory,
  InvalidRequestError,
  MAX_MEMORY_BYTES,
  MemoryDocument,
  TooLargeError,
} from '@caribou/contracts';
import type { MemoryScope, StoredMemory } from '@caribou/core';
import { z } from 'zod';
import type { RedisConnection } from '../redis/connection.js';
import type { MemoryKeys } from '../redis/script-keys.js';
import { loadScript } from '../redis/scripts.js';
import type { Reply } from '../redis/thread-call.js';

const scripts = { read: loadScript('memory/read-memory'), quarantine: loadScript('memory/quarantine-memory') };

/** Maximum number of changes retained of one memory, and of their bytes. */
export const HISTORY_LIMITS = { max_changes: 20, max_bytes: 512 * 1024 } as const;
const MAX_REPORTS = 10;
const MAX_REASON_CHARS = 300;
/** Damage after each read means that damaged records are written as fast as they are moved aside. */
const MAX_READS = 5;

const NOTHING: StoredMemory = { document: emptyMemory(), revision: 0, era: 0 };

/** The keys of a memory in the order of `memory/memory-record.lua`. */
export const memoryKeys = (keys: MemoryKeys): string[] => Object.values<string>({ ...keys });

/**
 * Reads a memory; an unreadable one is moved aside, and the memory is empty then.
 *
 * @throws {ConflictError} when it is damaged again each time
 */
export async function readMemory(redis: RedisConnection, scope: MemoryScope): Promise<StoredMemory> {
  const keys = redis.keys.memory(scope);
  for (let read = 0; read < MAX_READS; read += 1) {
    const reply = await readRecord(redis, keys.record);
    if (reply[0] === 'none') return NOTHING;
    const found = reply[0] === 'found' ? decode(reply) : { reason: `a ${String(reply[1])} instead of a record` };
    if ('document' in found) return found;
    const text = reply[0] === 'found' && typeof reply[1] === 'string' ? reply[1] : '';
    const parameters = {
      agent: scope.agent,
      reason: found.reason.slice(0, MAX_REASON_CHARS),
      max_reports: MAX_REPORTS,
    };
    const moved = (await redis.run(scripts.quarantine, memoryKeys(keys), [JSON.stringify(parameters), text])) as Reply;
    assertSound(moved);
    if (moved[0] === 'ok') return NOTHING;
  }
  throw new ConflictError('the memory was damaged again after each read', {
    details: { agent: scope.agent },
  });
}

/** The reply of `memory/read-memory.lua`, without that script where a plain command says the same: each run reads a memory. */
async function readRecord(redis: RedisConnection, key: string): Promise<Reply> {
  const fields = await redis.use((client) => client.hgetall(key).catch(foreignRecord));
  if (fields === undefined) return (await redis.run(scripts.read, [key], [])) as Reply;
  if (Object.keys(fields).length === 0) return ['none'];
  return ['found', fields['document'] ?? null, fields['revision'] ?? null, fields['era'] ?? null];
}

/** @throws the error, unless it says that the key is no hash */
function foreignRecord(error: unknown): undefined {
  if (!(error instanceof Error && error.message.startsWith('WRONGTYPE'))) throw error;
}

function decode([, text, revision, era]: Reply): StoredMemory | { readonly reason: string } {
  const numbers = { revision: Number(revision), era: Number(era) };
  if (typeof text !== 'string') return { reason: 'a record without a document' };
  if (!Number.isSafeInteger(numbers.revision) || !Number.isSafeInteger(numbers.era) || typeof revision !== 'string')
    return { reason: 'a record without a revision' };
  const parsed = MemoryDocument.safeParse(jsonOrUndefined(text));
  return parsed.success ? { document: parsed.data, ...numbers } : { reason: z.prettifyError(parsed.error) };
}

function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}

/**
 * Encodes a document that is within its bounds.
 *
 * @throws {InvalidRequestError} naming the field
 * @throws {TooLargeError}
 */
export function encodeMemory(document: MemoryDocument): string {
  const parsed = MemoryDocument.safeParse(document);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue?.path.map(String).join('.') ?? '';
    throw new InvalidRequestError(`memory.${field}: ${issue?.message ?? 'not valid'}`, { details: { field } });
  }
  const text = JSON.stringify(parsed.data);
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_MEMORY_BYTES) return text;
  throw new TooLargeError(`the memory would have ${bytes} bytes, more than ${MAX_MEMORY_BYTES}`, {
    details: { bytes, limitBytes: MAX_MEMORY_BYTES },
  });
}

/** @throws {BugError} for a script that found a foreign type. */
export function assertSound([outcome, key]: Reply): void {
  if (outcome === 'damaged') throw new BugError('a key of the store holds a foreign type', { details: { key } });
}
