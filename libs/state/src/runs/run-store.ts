import { BugError } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { CommitRequest, CommitResult, RunLease, RunStore } from '../ports/run-store.js';
import { claimThread, loadCheckpoint } from './claim-thread.js';
import {
  type CheckpointDraft,
  checkpointCall,
  checkpointEvent,
  draftOf,
  progressParams,
  stateBytesOf,
  toWrittenHead,
} from '../checkpoints/commit-call.js';
import type { RedisConnection } from '../redis/connection.js';
import { listDeadLetters, removeDeadLetter } from '../memory/jobs/dead-letter-list.js';
import { finishRun } from './finish-run.js';
import { logOf } from '../checkpoints/head-log.js';
import { isSweepDue, type Sweep, sweepLog } from '../checkpoints/log-sweep.js';
import { cancelOf } from './run-codec.js';
import { eventAppender } from '../events/append-events.js';
import { logEntries, textsBeforeCheckpoint } from '../events/log-entries.js';
import { numberEvents } from '../events/number-events.js';
import { loadScript } from '../redis/scripts.js';
import { type StoreOptions, storeSettings } from '../redis/store-settings.js';
import { budgetStateOf } from '../usage/budget-state.js';
import { isBudgetSpent } from '../usage/is-budget-spent.js';
import { callOwned } from '../redis/thread-call.js';
import { parseGoalChange } from '../goals/goal-change.js';
import { parseWaiting } from '../steering/waiting-messages.js';
import { traceStep } from '../traces/trace-call.js';
import { noteFence } from '../traces/note-fence.js';
import { listOrphans, listUnowned } from './unowned-threads.js';

const scripts = {
  renew: loadScript('runs/renew'),
  commit: loadScript('checkpoints/commit'),
  handOver: loadScript('runs/hand-over'),
};

/** The store in Redis as runners use it. */
export function redisRunStore(redis: RedisConnection, options: StoreOptions = {}): RunStore {
  const settings = storeSettings(options);
  const writeParams = {
    lease_ms: settings.leaseMs,
    max_log_bytes: settings.maxLogBytes,
    kept_checkpoints: settings.keptCheckpoints,
  };

  /** Finds what the commit may free, when enough of the log is outside its head. */
  async function sweepFor(thread: ThreadKey, draft: CheckpointDraft): Promise<Sweep | null> {
    const log = logOf(draft.head);
    return isSweepDue(log) ? sweepLog(redis, thread, log) : null;
  }

  async function commit(
    lease: RunLease,
    request: CommitRequest,
    unlessOvertaken?: boolean,
  ): Promise<CommitResult | undefined> {
    const draft = draftOf(request, lease.runId);
    const call = await checkpointCall(draft, await sweepFor(lease, draft), settings);
    const entries = logEntries(request.events, settings);
    const { texts, isOpen } = textsBeforeCheckpoint(entries, settings);
    const trace = await traceStep(settings, lease, request.trace, { ...request, bytes: call.bytes });
    const reply = await callOwned(redis, lease, scripts.commit, {
      params: {
        ...writeParams,
        after: request.after,
        unless_overtaken: unlessOvertaken,
        ...progressParams(request, entries, settings.ledger),
        is_open: isOpen,
        commit: call.params,
        ...trace.params,
      },
      texts: [...texts, ...call.texts, ...trace.texts],
    });
    if (reply[0] === 'overtaken') return undefined;
    trace.onStored();
    const minted = { checkpointId: String(reply[1]), createdAt: String(reply[2]) };
    const head = toWrittenHead(draft, call, minted);
    settings.heads?.set(lease, head);
    return {
      head,
      appended: numberEvents(reply[3], [...request.events, checkpointEvent(draft, minted)]),
      stateBytes: stateBytesOf(call),
      cancel: cancelOf(reply[4]),
      budget: budgetStateOf(reply[5]),
      ...parseWaiting(reply[6]),
      ...(reply[7] === '1' ? { pause: true as const } : {}),
      ...parseGoalChange(reply[8]),
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
