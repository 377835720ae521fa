import {
  type AiMessage,
  type HumanMessage,
  type Message,
  newId,
  type RunRecord,
  type StateUpdate,
} from '@caribou/contracts';
import { applyUpdate, type ThreadKey } from '@caribou/core';
import {
  type AdmitRequest,
  type ClaimResult,
  type CommitRequest,
  type CommitResult,
  type FinishRequest,
  type FinishResult,
  type RunEventLog,
  type RunStore,
  type ThreadHead,
  type ThreadStore,
  createRedis,
  type RedisConnection,
  redisErasures,
  redisEventLog,
  redisRunStore,
  redisThreadStore,
  type StoreOptions,
} from '@caribou/state';

export type ClaimedRun = Extract<ClaimResult, { kind: 'run' }>;

/** The stores on one Redis under a separate key prefix. */
export interface StoreFixture {
  /** Where their Redis is, for a test that opens stores with other options on it. */
  readonly url: string;
  readonly redis: RedisConnection;
  readonly prefix: string;
  readonly runs: RunStore;
  readonly threads: ThreadStore;
  readonly events: RunEventLog;
  /** All keys under the prefix, sorted. */
  keys(): Promise<string[]>;
  /** Every key with its content, but without deadlines: two equal dumps are two equal stores. */
  dump(): Promise<Readonly<Record<string, unknown>>>;
  /** Whether the thread has a run that waits or is under way. */
  isPending(thread: ThreadKey): Promise<boolean>;
  /** Admits a run; strategy `enqueue`, thread made when missing. */
  admit(thread: ThreadKey, overrides?: Partial<AdmitRequest>): Promise<RunRecord>;
  /** Claims for a fresh owner. @throws Error unless there is something to run. */
  claim(thread: ThreadKey): Promise<ClaimedRun>;
  /** Commits an update on the head of a claim or of the last commit. */
  step(
    claimed: Pick<ClaimedRun, 'lease' | 'head'>,
    update: StateUpdate,
    request?: Partial<CommitRequest>,
  ): Promise<CommitResult>;
  finish(claimed: Pick<ClaimedRun, 'lease'>, request?: Partial<FinishRequest>): Promise<FinishResult>;
  /** A whole run: admitted, claimed, one commit with the update, success. */
  turn(thread: ThreadKey, update: StateUpdate): Promise<{ readonly run: RunRecord; readonly head: ThreadHead }>;
  /** Records, like a gateway, that the files of a deleted thread were moved and removed. */
  filesGone(thread: ThreadKey): Promise<void>;
  close(): Promise<void>;
}

export const thread = (userId = 'alice'): ThreadKey => ({ userId, threadId: newId() });

export const human = (text: string, id: string = newId()): HumanMessage => ({
  type: 'human',
  id,
  content: text,
  additional_kwargs: {},
  response_metadata: {},
});

export const ai = (text: string, id: string = newId()): AiMessage => ({
  type: 'ai',
  id,
  content: text,
  additional_kwargs: {},
  response_metadata: {},
  tool_calls: [],
  invalid_tool_calls: [],
});

export const textsOf = (messages: readonly Message[]): unknown[] => messages.map((message) => message.content);

export function openStores(url: string, options: StoreOptions = {}): StoreFixture {
  const prefix = `test-${newId()}:`;
  const redis = createRedis({ url, keyPrefix: prefix, storesFiles: true });
  const runs = redisRunStore(redis, options);
  const threads = redisThreadStore(redis, options);
  const keys = async (): Promise<string[]> => (await redis.use((client) => client.keys(`${prefix}*`))).sort();

  const admit: StoreFixture['admit'] = async (key, overrides = {}) =>
    (await threads.admit({ ...admission(key), ...overrides })).run;
  const claim: StoreFixture['claim'] = async (key) => {
    const claimed = await runs.claim(key, newId());
    if (claimed.kind !== 'run') throw new Error(`the claim answered ${claimed.kind}`);
    return claimed;
  };
  const step: StoreFixture['step'] = ({ lease, head }, update, request = {}) =>
    runs.commit(lease, {
      head,
      state: applyUpdate((request.forkedFrom ?? head).state, update),
      next: [],
      source: 'loop',
      step: 1,
      events: [],
      ...request,
    });
  const finish: StoreFixture['finish'] = ({ lease }, request = {}) =>
    runs.finish(lease, { status: 'success', events: [], ...request });

  return {
    url,
    redis,
    prefix,
    runs,
    threads,
    events: redisEventLog(redis),
    keys,
    dump: async () =>
      Object.fromEntries(
        await Promise.all(
          (await keys()).map(async (key): Promise<[string, unknown]> => [key, await contentOf(redis, key)]),
        ),
      ),
    isPending: async ({ userId, threadId }) =>
      (await redis.use((client) => client.zscore(redis.keys.pending, `${userId}/${threadId}`))) !== null,
    admit,
    claim,
    step,
    finish,
    turn: async (key, update) => {
      const run = await admit(key);
      const claimed = await claim(key);
      const { head } = await step(claimed, update);
      await finish(claimed);
      return { run, head };
    },
    filesGone: async (key) => {
      const erasures = redisErasures(redis);
      const erasure = await erasures.findPending(key);
      if (erasure === null) throw new Error('the files of the thread are forgotten');
      await erasures.markMoved(erasure, 'aside');
      await erasures.remove('aside');
    },
    close: () => redis.close(),
  };
}

/** The admission request of a gateway for a plain run. */
export const admission = (key: ThreadKey): AdmitRequest => ({
  ...key,
  runId: newId(),
  assistantId: 'lead_agent',
  metadata: {},
  kwargs: {
    input: { messages: [human('hello')] },
    context: {},
    recursion_limit: 100,
    stream_mode: ['values'],
    stream_subgraphs: false,
    on_disconnect: 'continue',
    temporary: false,
  },
  multitaskStrategy: 'enqueue',
  ifNotExists: 'create',
  threadMetadata: {},
});

async function contentOf(redis: RedisConnection, key: string): Promise<unknown> {
  return redis.use(async (client) => {
    switch (await client.type(key)) {
      case 'hash':
        return await client.hgetall(key);
      case 'zset':
        return await client.zrange(key, 0, -1, 'WITHSCORES');
      case 'list':
        return await client.lrange(key, 0, -1);
      case 'set':
        return (await client.smembers(key)).sort();
      case 'stream':
        return await client.xrange(key, '-', '+');
      default:
        return await client.get(key);
    }
  });
}
