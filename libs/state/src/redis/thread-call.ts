import { BugError, FencedError } from '@caribou/contracts';
import { type ThreadKey } from '@caribou/core';
import { BeingErasedError } from '../ports/erasure-store.js';
import { type RunLease } from '../ports/run-store.js';
import type { RedisConnection } from './connection.js';
import { pendingMember } from './keys.js';
import type { Script } from './scripts.js';

/** A reply of a script: an outcome and its values. */
export type Reply = readonly [outcome: string, ...rest: readonly unknown[]];

export interface ThreadCall {
  /** Read by the script as `p`; undefined fields are left out. */
  readonly params: Readonly<Record<string, unknown>>;
  /** Texts that are stored unchanged, in the script's order. */
  readonly texts?: readonly string[];
  /** Keys after the thread's own. */
  readonly moreKeys?: readonly string[];
}

/** Runs a script on a thread, as `includes/thread.lua` describes. @throws {BugError} when a key holds a foreign type, {BeingErasedError} */
export async function callThread(
  redis: RedisConnection,
  thread: ThreadKey,
  script: Script,
  call: ThreadCall,
): Promise<Reply> {
  const keys = [...Object.values<string>({ ...redis.keys.thread(thread) }), ...(call.moreKeys ?? [])];
  const reply = (await redis.run(script, keys, [
    redis.keys.runPrefix(thread.userId),
    redis.keys.eventsPrefix(thread.userId),
    pendingMember(thread),
    thread.threadId,
    JSON.stringify({ ...call.params, erasing: redis.keys.erasing }),
    ...(call.texts ?? []),
  ])) as Reply;
  if (reply[0] === 'damaged') {
    throw new BugError('a key of the store holds a foreign type', {
      details: { key: reply[1], threadId: thread.threadId },
    });
  }
  if (reply[0] === 'erasing') {
    throw new BeingErasedError('this was deleted and its files are being removed: try again', {
      details: { threadId: thread.threadId },
    });
  }
  return reply;
}

/** Runs a script under the fence of a lease. @throws {FencedError} when the caller is not the owner. */
export async function callOwned(
  redis: RedisConnection,
  lease: RunLease,
  script: Script,
  call: ThreadCall,
): Promise<Reply> {
  const fence = { owner: lease.ownerId, epoch: String(lease.epoch), run: lease.runId };
  const reply = await callThread(redis, lease, script, { ...call, params: { ...call.params, ...fence } });
  if (reply[0] === 'fenced') {
    throw new FencedError('the run is not owned by this writer', {
      details: { reason: reply[1], runId: lease.runId, threadId: lease.threadId },
    });
  }
  return reply;
}
