import { randomUUID } from 'node:crypto';
import {
  ConflictError,
  FREE_JSON_LIMITS,
  countKeys,
  NotFoundError,
  QuotaError,
  type QuotaUse,
  type ThreadRecord,
  TooLargeError,
} from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { ThreadStore } from '../ports/thread-store.js';
import type { RedisConnection } from '../redis/connection.js';
import { interruptedParams } from '../redis/interrupted-params.js';
import { loadScript } from '../redis/scripts.js';
import type { StoreSettings } from '../redis/store-settings.js';
import { callThread, type Reply } from '../redis/thread-call.js';
import { outboxParams } from '../outbox/outbox-params.js';
import { isListed, threadOf } from './thread-codec.js';

const scripts = {
  create: loadScript('threads/create-thread'),
  patch: loadScript('threads/patch-thread'),
  remove: loadScript('threads/delete-thread'),
  copy: loadScript('threads/copy-thread'),
  keepLatest: loadScript('threads/keep-latest'),
};

const noThread = (threadId: string): NotFoundError =>
  new NotFoundError(`Thread ${threadId} does not exist`, { details: { threadId } });

const threadUse = ({ maxThreads: limit }: StoreSettings, used: unknown): QuotaUse => ({
  quota: 'threads',
  limit,
  used: Number(used),
});

export const tooManyThreads = (settings: StoreSettings): QuotaError =>
  new QuotaError(
    `you have ${settings.maxThreads} threads, which is the limit (quotas.max_threads_per_user): delete some`,
    threadUse(settings, settings.maxThreads),
  );

/** @throws {TooLargeError} when the merged metadata would exceed the limits of free JSON */
function mergeMetadata(before: Readonly<Record<string, unknown>>, added: Readonly<Record<string, unknown>>): string {
  const merged = { ...before, ...added };
  const text = JSON.stringify(merged);
  const { maxBytes, maxKeys } = FREE_JSON_LIMITS;
  if (Buffer.byteLength(text) > maxBytes)
    throw new TooLargeError(`metadata: the merged metadata would be larger than ${maxBytes} bytes`);
  if (countKeys(merged) > maxKeys)
    throw new TooLargeError(`metadata: the merged metadata would hold more than ${maxKeys} keys`);
  return text;
}

/** Throws the error for a refused write without an owner. */
export function assertAllowed([outcome]: Reply, threadId: string): void {
  if (outcome === 'no_thread') throw noThread(threadId);
  if (outcome === 'busy') {
    throw new ConflictError('Thread is busy: a run is in flight. Wait for it to finish or cancel it.', {
      details: { threadId },
    });
  }
}

async function keepLatest(redis: RedisConnection, thread: ThreadKey): Promise<number> {
  const reply = await callThread(redis, thread, scripts.keepLatest, { params: {} });
  assertAllowed(reply, thread.threadId);
  return Number(reply[1]);
}

type Records = Pick<
  ThreadStore,
  'createThread' | 'getThread' | 'patchThread' | 'deleteThread' | 'copyThread' | 'keepLatestCheckpoint'
>;

async function createThread(
  redis: RedisConnection,
  settings: StoreSettings,
  { thread, metadata }: { readonly thread: ThreadKey; readonly metadata: Readonly<Record<string, unknown>> },
): ReturnType<ThreadStore['createThread']> {
  const reply = await callThread(redis, thread, scripts.create, {
    params: { max_threads: settings.maxThreads },
    texts: [JSON.stringify(metadata)],
    beginsTurn: true,
  });
  if (reply[0] === 'many') throw tooManyThreads(settings);
  if (reply[0] === 'taken')
    throw new ConflictError('this thread id is in use', { details: { threadId: thread.threadId } });
  return {
    record: threadOf(thread.threadId, reply[1]),
    created: reply[2] === 1,
    threads: threadUse(settings, reply[3]),
  };
}

export function threadRecords(redis: RedisConnection, settings: StoreSettings): Records {
  async function getThread(thread: ThreadKey): Promise<ThreadRecord> {
    const hash = await redis.use((client) => client.hgetall(redis.keys.thread(thread).record));
    const flat = Object.entries(hash).flat();
    if (!isListed(flat)) throw noThread(thread.threadId);
    return threadOf(thread.threadId, flat);
  }

  return {
    getThread,

    keepLatestCheckpoint: (thread) => keepLatest(redis, thread),

    createThread: (thread, metadata) => createThread(redis, settings, { thread, metadata }),

    patchThread: async (thread, metadata, { touch = true } = {}) => {
      for (let attempt = 0; attempt < MAX_PATCH_ATTEMPTS; attempt += 1) {
        const before = await getThread(thread);
        const reply = await callThread(redis, thread, scripts.patch, {
          params: { touch },
          texts: [JSON.stringify(before.metadata), mergeMetadata(before.metadata, metadata)],
        });
        assertAllowed(reply, thread.threadId);
        if (reply[0] === 'ok') return threadOf(thread.threadId, reply[1]);
      }
      throw new ConflictError('other requests are changing the thread at the same time', {
        details: { threadId: thread.threadId },
      });
    },

    deleteThread: async (thread, { ended = false, withIdempotency = false } = {}) => {
      const { jobs, due, userDue, running } = redis.keys.memoryJob(thread);
      const reply = await callThread(redis, thread, scripts.remove, {
        params: {
          ended,
          delayed: redis.keys.delayedRuns(thread.userId),
          outbox: outboxParams(redis, thread.userId),
          idempotency: withIdempotency ? redis.keys.idempotency(thread.userId, '') : undefined,
          filed: redis.keys.files(thread).filed,
          ...interruptedParams(redis, thread),
        },
        moreKeys: [
          ...[redis.keys.executionPrefix(thread), redis.keys.conversions(thread), jobs, due, userDue, running],
          redis.keys.feedback(thread),
        ],
      });
      assertAllowed(reply, thread.threadId);
    },

    copyThread: async (thread, newThreadId, { at, metadata } = {}) => {
      const copy = { userId: thread.userId, threadId: newThreadId };
      const target = redis.keys.thread(copy);
      const { jobs } = redis.keys.memoryJob(copy);
      const reply = await callThread(redis, thread, scripts.copy, {
        params: {
          target: newThreadId,
          at: at?.checkpointId,
          last_row: at?.lastSeq,
          max_threads: settings.maxThreads,
          ...interruptedParams(redis, thread),
          ...(redis.storesFiles ? { home: randomUUID(), filed: redis.keys.files(copy).filed } : {}),
        },
        texts: [metadata === undefined ? '' : JSON.stringify(metadata)],
        moreKeys: [target.record, target.log, target.checkpoints, target.order, target.feed, jobs],
      });
      assertAllowed(reply, thread.threadId);
      if (reply[0] === 'many') throw tooManyThreads(settings);
      if (reply[0] === 'taken')
        throw new ConflictError('this thread id is in use', { details: { threadId: newThreadId } });
      if (reply[0] === 'no_checkpoint') throw new NotFoundError(`Checkpoint ${at?.checkpointId ?? ''} does not exist`);
      return {
        ...threadOf(newThreadId, reply[1]),
        copiedBytes: Number(reply[2]),
        threads: threadUse(settings, reply[3]),
        files: reply[4] === '' ? null : Number(reply[4]),
      };
    },
  };
}

/** Patches of one thread are rare; after each lost race another one was written. */
const MAX_PATCH_ATTEMPTS = 10;
