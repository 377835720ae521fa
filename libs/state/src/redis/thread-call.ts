import { BugError, FencedError } from '@caribou/contracts';
import { type ThreadKey } from '@caribou/core';
import { BeingErasedError } from '../ports/erasure-store.js';
import { type RunLease } from '../ports/run-store.js';
import type { RedisConnection } from './connection.js';
import { pendingMember } from './keys.js';
import type { Script } from './scripts.js';
import type { StoredText } from './stored-text.js';

/** A reply of a script: an outcome and its values. */
export type Reply = readonly [outcome: string, ...rest: readonly unknown[]];

/** Named values for a script; undefined ones are left out. */
export type Params = Readonly<Record<string, unknown>>;

export interface ThreadCall {
  /** Read by the script as `p`: the fields of all of them, none of which is in two. Each is best a literal that always has the same fields. */
  readonly params: Params | readonly Params[];
  /** Texts that are stored unchanged, in the script's order. */
  readonly texts?: readonly StoredText[];
  /** Whether the types of the thread's keys count as checked once the script has checked them. */
  readonly beginsTurn?: boolean;
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
  const reply = await callChecked(redis, thread, script, call);
  assertUsable(reply, thread);
  return reply;
}

function assertUsable(reply: Reply, thread: ThreadKey): void {
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
}

/**
 * The JSON of an object with the fields of all of these. They are not copied into one object, as V8 makes a dictionary of one that gets
 * more than a dozen fields that way, which takes longer than its JSON.
 */
function paramsText(params: readonly Params[]): string {
  let text = '';
  for (const fields of params) {
    const json = JSON.stringify(fields);
    if (json.length > EMPTY.length) text += `${text === '' ? '{' : ','}${json.slice(1, -1)}`;
  }
  return text === '' ? EMPTY : `${text}}`;
}

const EMPTY = '{}';

const isList = (params: Params | readonly Params[]): params is readonly Params[] => Array.isArray(params);

/**
 * Runs a script, which checks the types of the thread's keys unless a creation, an admission or a claim of this process did
 * so in the last minute. A key that changes its type meanwhile fails the script; the next call then checks again, and names the key.
 */
async function callChecked(
  redis: RedisConnection,
  thread: ThreadKey,
  script: Script,
  { params, texts = [], moreKeys = [], beginsTurn }: ThreadCall,
): Promise<Reply> {
  const member = pendingMember(thread);
  const checked = redis.checkedThreads.get(member);
  const keys = [...redis.keys.threadScript(thread), ...moreKeys];
  const known = { checked, files: redis.storesFiles ? true : undefined, erasing: redis.keys.erasing };
  const args = [
    redis.keys.runPrefix(thread.userId),
    redis.keys.eventsPrefix(thread.userId),
    member,
    thread.threadId,
    paramsText(isList(params) ? [...params, known] : [params, known]),
    ...texts,
  ];
  try {
    const reply = (await redis.run(script, keys, args)) as Reply;
    if (beginsTurn === true && checked === undefined && reply[0] !== 'damaged') redis.checkedThreads.set(member, true);
    return reply;
  } catch (error) {
    redis.checkedThreads.delete(member);
    throw error;
  }
}

/** Runs a script under the fence of a lease. @throws {FencedError} when the caller is not the owner. */
export async function callOwned(
  redis: RedisConnection,
  lease: RunLease,
  script: Script,
  call: ThreadCall,
): Promise<Reply> {
  const fence = { owner: lease.ownerId, epoch: String(lease.epoch), run: lease.runId };
  const params = isList(call.params) ? [...call.params, fence] : [call.params, fence];
  const reply = await callThread(redis, lease, script, { ...call, params });
  if (reply[0] === 'fenced') {
    throw new FencedError('the run is not owned by this writer', {
      details: { reason: reply[1], runId: lease.runId, threadId: lease.threadId },
    });
  }
  return reply;
}
