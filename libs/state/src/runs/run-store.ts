import { BugError } from '@caribou/contracts';
import type { CommitRequest, CommitResult, RunLease, RunStore } from '../ports/run-store.js';
import { claimThread, loadCheckpoint } from './claim-thread.js';
import { prepareCommit, sweepFor } from './prepared-commit.js';
import type { RedisConnection } from '../redis/connection.js';
import { listDeadLetters, removeDeadLetter } from '../memory/jobs/dead-letter-list.js';
import { finishRun } from './finish-run.js';
import { cancelOf } from './run-codec.js';
import { eventAppender } from '../events/append-events.js';
import { loadScript } from '../redis/scripts.js';
import { type StoreOptions, storeSettings } from '../redis/store-settings.js';
import { isBudgetSpent } from '../usage/is-budget-spent.js';
import { callOwned } from '../redis/thread-call.js';
import { parseGoalChange } from '../goals/goal-change.js';
import { parseWaiting } from '../steering/waiting-messages.js';
import { noteFence } from '../traces/note-fence.js';
import { listOrphans, listUnowned } from './unowned-threads.js';

const scripts = {
  renew: loadScript('claims/renew'),
  commit: loadScript('checkpoints/commit'),
  handOver: loadScript('claims/hand-over'),
};

/** The store in Redis as runners use it. */
export function redisRunStore(redis: RedisConnection, options: StoreOptions = {}): RunStore {
  const settings = storeSettings(options);

  async function commit(
    lease: RunLease,
    request: CommitRequest,
    unlessOvertaken?: boolean,
  ): Promise<CommitResult | undefined> {
    const prepared = await prepareCommit(settings, lease, request, await sweepFor(redis, lease, request));
    const params = [{ lease_ms: settings.leaseMs, unless_overtaken: unlessOvertaken }, ...prepared.params];
    const reply = await callOwned(redis, lease, scripts.commit, { params, texts: prepared.texts });
    if (reply[0] === 'overtaken') return undefined;
    const [, checkpointId, createdAt, firstSeq, cancel, budget, waiting, pause, goalChange] = reply;
    return {
      ...prepared.onWritten([checkpointId, createdAt, firstSeq, budget]),
      cancel: cancelOf(cancel),
      ...parseWaiting(waiting),
      ...(pause === '1' ? { pause: true as const } : {}),
      ...parseGoalChange(goalChange),
    };
  }

  return {
    claim: (thread, claimId, options) => claimThread(redis, settings, thread, { claimId, ...options }),
    append: eventAppender(redis, settings),
    commit: async (lease, request) => {
      const committed = await commit(lease, request);
      if (committed === undefined) throw new BugError('a commit without conditions was refused');
      return committed;
    },
    commitUnlessOvertaken: (lease, request) => commit(lease, request, true),
    finish: (lease, request) => finishRun(redis, settings, lease, request),
    isBudgetSpent: async (payer) => settings.ledger !== undefined && isBudgetSpent(redis, settings.ledger, payer),
    loadCheckpoint: (thread, checkpointId) => loadCheckpoint(redis, thread, checkpointId),
    renew: async (lease) => {
      const reply = await callOwned(redis, lease, scripts.renew, { params: { lease_ms: settings.leaseMs } });
      return { cancel: cancelOf(reply[1]) };
    },
    handOver: async (lease, reason) => {
      await callOwned(redis, lease, scripts.handOver, { params: { reason } });
    },
    noteFence: (lease, reason) => noteFence(redis, settings, lease, reason),
    listUnowned: (limit, from) => listUnowned(redis, limit, from),
    listOrphans: (dead, limit) => listOrphans(redis, dead, limit),
    listDeadLetters: (limit) => listDeadLetters(redis, limit),
    removeDeadLetter: (letter) => removeDeadLetter(redis, letter),
    ping: () => redis.ping(),
  };
}
