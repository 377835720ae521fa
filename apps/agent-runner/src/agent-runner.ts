import { PublishRequests } from '@caribou/bus';
import type { Config } from '@caribou/config';
import { omitUndefined } from '@caribou/contracts';
import { systemClock } from '@caribou/core';
import { TurnWorker } from '@caribou/runs';
import {
  HeadCache,
  redisAgents,
  redisConversions,
  redisMemoryStore,
  redisProcessRegistry,
  ledgerSettings,
  redisRunStore,
  redisSchedules,
  redisToolJournal,
  redisTurnQueue,
  requireDurableRedis,
} from '@caribou/state';
import type { AgentRole, OpenRole, WorkerBase } from '@caribou/worker';
import { afterCancel, leadAgent } from './lead-agent/lead-agent.js';
import { prepareMemories } from './lead-agent/memory-for-prompt.js';
import { connectSubagents } from './lead-agent/subagents.js';
import { createMemoryNotifier } from './memory-notifier.js';

/** Minimum time between two notifications: the shortest debounce time of memory that can be configured. */
const NOTIFY_INTERVAL_MS = 1_000;

/** States of threads whose next turns need not read them, so that one script claims a turn and writes its input. */
const HEAD_CACHE_BYTES = 64 * 1024 * 1024;

/** Runs the lead agent on the threads of users. */
export const agentRunner: AgentRole = {
  service: 'agent-runner',
  wakes: 'turns',
  busOptions: () => ({ streams: ['turns', 'subagents', 'memory', 'deadLetters'] }),
  open: openRunner,
};

function openRunner(base: WorkerBase): OpenRole {
  const { config, logger, bus, redis, models, gate, metrics, sandboxes: sandbox } = base;
  const { clocks, runner } = config;
  const heads = new HeadCache(HEAD_CACHE_BYTES);
  metrics.measureCache('heads', heads.bytes);
  const shares = { maxRunningPerUser: runner.maxRunningPerUser, weights: runner.userWeights };
  const store = redisRunStore(redis, {
    heads,
    leaseMs: clocks.leaseMs,
    maxAttempts: runner.maxAttempts,
    maxRunningPerUser: shares.maxRunningPerUser,
    eventsTtlMs: clocks.eventsTtlMs,
    process: base.process,
    compact: config.store.compact,
    ledger: ledgerSettings(redis, config),
    ...omitUndefined({ trace: base.trace }),
  });
  const subagents = connectSubagents(base);
  const requests = new PublishRequests(bus, logger);
  return {
    runs: {
      store,
      sandbox,
      afterCancel: afterCancel(config, subagents.endTasks),
      beforeWithdrawal: subagents.forgetWaiting,
      settleFiles: requests.ask.bind(requests),
      onMemoryQueued: createMemoryNotifier({
        wakes: bus.wakes('memory'),
        clock: systemClock,
        logger,
        everyMs: NOTIFY_INTERVAL_MS,
      }),
    },
    journal: redisToolJournal(redis),
    processes: redisProcessRegistry(redis, 'runs'),
    loop: (tools) =>
      leadAgent(
        {
          ...tools,
          models,
          gate,
          sandbox,
          conversions: redisConversions(redis),
          subagents: subagents.port,
          memories: redisMemoryStore(redis),
          agents: redisAgents(redis),
          schedules: redisSchedules(redis),
        },
        config,
      ),
    slots: { kind: 'runs', limit: runner.slots },
    worker: (parts) =>
      new TurnWorker({
        ...parts,
        handoffs: bus,
        queue: redisTurnQueue(redis, shares),
        metrics,
        logger,
        slots: runner.slots,
        takeoverSlots: runner.takeoverSlots ?? runner.slots,
      }),
    checks: [{ name: 'model', check: () => checkModel(config) }],
    prepare: async () => {
      await requireDurableRedis(redis, logger);
      await prepareMemories(config.chain.memory);
    },
  };
}

const checkModel = ({ problems }: Config): Promise<void> =>
  problems.length === 0 ? Promise.resolve() : Promise.reject(new Error(problems.join('; ')));
