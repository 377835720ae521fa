import { FencedError, type Message, toClientMessage } from '@caribou/contracts';
import type {
  JobProgress,
  MemoryJob,
  MemoryJobKey,
  MemoryJobs,
  MemoryLease,
  MemoryUpdate,
  NumberedMessage,
  ThreadKey,
} from '@caribou/core';
import type { ProcessOwner } from '../../ports/process-registry.js';
import { ownerName, processOf, processParams } from '../../processes/process-registry.js';
import { letterId, MAX_LETTERS } from '../../letters/letter-params.js';
import type { RedisConnection } from '../../redis/connection.js';
import { memoryMember, parseMemoryMember } from '../../redis/keys.js';
import { differenceOf } from '../memory-difference.js';
import { assertSound, encodeMemory, HISTORY_LIMITS, memoryKeys } from '../memory-record.js';
import { loadScript, type Script } from '../../redis/scripts.js';
import { parseStored } from '../../redis/stored-json.js';
import { expandTexts, type StoredText } from '../../redis/stored-text.js';
import type { Reply } from '../../redis/thread-call.js';

const scripts = {
  ready: loadScript('memory/jobs/ready-memory'),
  take: loadScript('memory/jobs/take-memory'),
  renew: loadScript('memory/jobs/renew-memory'),
  messages: loadScript('memory/jobs/read-messages'),
  complete: loadScript('memory/jobs/complete-memory'),
  retry: loadScript('memory/jobs/retry-memory'),
  deadLetter: loadScript('memory/jobs/dead-letter-memory'),
};

export interface MemoryJobsOptions {
  readonly debounceMs: number;
  readonly leaseMs: number;
  /** The process under whose lease jobs are taken; without one they live under their own leases alone. */
  readonly process?: ProcessOwner;
}

/** Maximum number of bytes of messages in one reply. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;
const MAX_DEAD = 100;
/** Maximum number of queued jobs that are read for one list of ready ones. */
const MAX_READ = 10_000;
/** Maximum number of queued jobs that are searched for those of dead processes. */
const MAX_ORPHANS = 1_000;
const MAX_REASON_CHARS = 500;

interface JobCall {
  readonly params: Readonly<Record<string, unknown>>;
  readonly moreKeys?: readonly string[];
  readonly texts?: readonly string[];
}

/** Calls scripts on a job; `underLease` requires its lease. */
function jobCalls(redis: RedisConnection, debounceMs: number) {
  const call = async (job: MemoryJobKey, script: Script, { params, moreKeys = [], texts = [] }: JobCall) => {
    const parameters = { member: memoryMember(job, job.agent), agent: job.agent, debounce_ms: debounceMs, ...params };
    const keys = [...Object.values<string>({ ...redis.keys.memoryJob(job) }), ...moreKeys];
    const reply = (await redis.run(script, keys, [JSON.stringify(parameters), ...texts])) as Reply;
    assertSound(reply);
    return reply;
  };
  const underLease = async (lease: MemoryLease, script: Script, more: JobCall): Promise<Reply> => {
    const fence = { owner: lease.ownerId, epoch: String(lease.epoch) };
    const reply = await call(lease, script, { ...more, params: { ...more.params, ...fence } });
    if (reply[0] !== 'fenced') return reply;
    throw new FencedError('this worker has lost the lease of the extraction', {
      details: { threadId: lease.threadId },
    });
  };
  return { call, underLease };
}

/** The queue of memory extractions in Redis. */
export function redisMemoryJobs(redis: RedisConnection, options: MemoryJobsOptions): MemoryJobs {
  const { debounceMs, leaseMs, process } = options;
  const { call, underLease } = jobCalls(redis, debounceMs);
  return {
    ready: async (limit) => {
      const args = [debounceMs, limit, MAX_READ, redis.keys.turns.users];
      const reply = await redis.run(scripts.ready, [redis.keys.memoryQueue, redis.keys.memoryServed], args);
      const [due, nextInMs, ...members] = reply as [number, number, ...string[]];
      return { jobs: members.map(parseMemoryMember), nextInMs: nextInMs < 0 ? null : nextInMs, due };
    },
    orphans: (dead) => listOrphans(redis, dead, options),
    take: async (job, claimId) => {
      const ownerId = ownerName(process, claimId);
      const { record } = redis.keys.thread(job);
      const params = { owner: ownerId, lease_ms: leaseMs, record, ...processParams(redis, 'memory', process) };
      const reply = await call(job, scripts.take, { params, moreKeys: [redis.keys.memoryServed] });
      return reply[0] === 'taken' ? toMemoryJob(job, ownerId, reply) : null;
    },
    renew: async (lease) => void (await underLease(lease, scripts.renew, { params: { lease_ms: leaseMs } })),
    messages: (thread, range) => readMessages(redis, thread, range),
    complete: async (job, progress, update) => {
      const change = changeCall(update);
      const reply = await underLease(job.lease, scripts.complete, {
        params: { ...change.params, ...progressOf(job, progress) },
        texts: [JSON.stringify(progress.seen), ...change.texts],
        moreKeys: memoryKeys(redis.keys.memory(job.lease)),
      });
      return reply[0] === 'ok';
    },
    retry: async ({ lease }, { delayMs, failed }) =>
      void (await underLease(lease, scripts.retry, { params: { delay_ms: delayMs, failed } })),
    deadLetter: async (job, progress, reason) => {
      const { threadId, userId } = job.lease;
      const { records, times } = redis.keys.letters;
      const note = {
        ...{ user: userId, thread: threadId, reason: reason.slice(0, MAX_REASON_CHARS), max_dead: MAX_DEAD },
        ...{ letter: letterId('memory', userId, threadId, job.lease.agent), max_letters: MAX_LETTERS },
      };
      await underLease(job.lease, scripts.deadLetter, {
        params: { ...progressOf(job, progress), ...note },
        texts: [JSON.stringify(progress.seen)],
        moreKeys: [redis.keys.memoryDead(userId), records, times],
      });
    },
  };
}

/** The jobs among those that would be ready within the time of a lease which dead processes hold. */
async function listOrphans(
  redis: RedisConnection,
  processes: readonly string[],
  { debounceMs, leaseMs }: MemoryJobsOptions,
): Promise<readonly MemoryJobKey[]> {
  const dead = new Set(processes);
  const [seconds] = await redis.use((client) => client.time());
  const quietMs = Number(seconds) * 1_000 - debounceMs;
  const members = await redis.use((client) =>
    client.zrangebyscore(redis.keys.memoryQueue, quietMs, quietMs + leaseMs + 1_000, 'LIMIT', 0, MAX_ORPHANS),
  );
  const jobs = members.map(parseMemoryMember);
  const owners = await redis.use((client) =>
    Promise.all(jobs.map((job) => client.hget(redis.keys.memoryJob(job).jobs, `lease:${job.agent}`))),
  );
  return jobs.filter((_, index) => dead.has(processOf(owners[index] ?? '') ?? ''));
}

function toMemoryJob(job: MemoryJobKey, ownerId: string, reply: Reply): MemoryJob {
  const [epoch, said, watermark, lastEntry, attempts, failingMs] = reply.slice(1, 7).map(Number);
  const { userId, threadId, agent } = job;
  return {
    lease: { userId, threadId, agent, ownerId, epoch: epoch ?? 0 },
    said: said ?? 0,
    watermark: watermark ?? 0,
    lastEntry: lastEntry ?? 0,
    attempts: attempts ?? 0,
    failingMs: failingMs ?? 0,
    seen: reply[7] === '' ? [] : parseStored<string[]>(String(reply[7])),
  };
}

const progressOf = ({ said }: MemoryJob, { watermark, more }: JobProgress) => ({ said, watermark, more });

function changeCall(update: MemoryUpdate | undefined) {
  if (update === undefined) return { params: {}, texts: [] };
  const { document, before, expectedRevision, cause } = update;
  return {
    params: { expected: expectedRevision, ...HISTORY_LIMITS },
    texts: [encodeMemory(document), JSON.stringify({ cause, ...differenceOf(before, document) })],
  };
}

async function readMessages(
  redis: RedisConnection,
  thread: ThreadKey,
  { after, to }: { readonly after: number; readonly to: number },
): Promise<{ readonly messages: readonly NumberedMessage[]; readonly last: number }> {
  const { log } = redis.keys.thread(thread);
  const reply = await redis.run(scripts.messages, [log], [after + 1, to, MAX_PAGE_BYTES]);
  const [last, ...flat] = reply as [number, ...StoredText[]];
  const texts = await expandTexts(flat.filter((_, index) => index % 2 === 1));
  const messages = texts.map((text, index) => ({
    entry: Number(flat[2 * index]),
    message: toClientMessage(parseStored<Message>(text)),
  }));
  return { messages, last };
}
