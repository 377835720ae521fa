import { taskLimits } from '@caribou/agent';
import { BugError, omitUndefined } from '@caribou/contracts';
import { type SandboxPort, systemClock } from '@caribou/core';
import {
  redisProcessRegistry,
  ledgerSettings,
  redisRunStore,
  redisTaskSlots,
  redisTaskStore,
  redisToolJournal,
  taskPart,
} from '@caribou/state';
import type { AgentRole, OpenRole, WorkerBase } from '@caribou/worker';
import { createBorrowedSandbox } from './borrowed-sandbox.js';
import { HeldTasks } from './held-tasks.js';
import { createSlottedStore } from './slotted-store.js';
import { subagentLoop } from './subagent-loop.js';
import { TaskWorker } from './task-worker.js';

/** Runs subagents on the tasks that runs delegate. */
export const subagentPool: AgentRole = {
  service: 'subagent-pool',
  wakes: 'subagents',
  busOptions: ({ clocks }) => ({ streams: ['subagents', 'deadLetters'], checkMs: clocks.sweepMs }),
  open: openPool,
};

function openPool(base: WorkerBase): OpenRole {
  const { config, logger, redis, models, gate, process } = base;
  const { clocks, chain, runner } = config;
  const { subagents } = chain;
  const threads = taskPart(redis);
  const held = new HeldTasks();
  const slots = redisTaskSlots({ tasks: threads, parents: redis, leaseMs: clocks.leaseMs, process });
  const limits = taskLimits(subagents);
  const tasks = redisTaskStore(threads, limits);
  const runs = redisRunStore(threads, {
    leaseMs: clocks.leaseMs,
    maxAttempts: runner.maxAttempts,
    eventsTtlMs: limits.keptMs,
    process,
    compact: config.store.compact,
    ledger: ledgerSettings(redis, config),
    ...omitUndefined({ trace: base.trace }),
  });
  const sandbox = sandboxOfParents(base, held);
  return {
    runs: { store: createSlottedStore({ store: runs, slots, forget: (task) => tasks.forget(task), held }), sandbox },
    journal: redisToolJournal(threads),
    processes: redisProcessRegistry(threads, 'runs'),
    loop: (tools) => subagentLoop({ ...tools, models, gate, sandbox }, config),
    slots: { kind: 'tasks', limit: subagents.slots },
    worker: (parts) =>
      new TaskWorker({
        ...parts,
        slots,
        held,
        clock: systemClock,
        logger,
        ownSlots: subagents.slots,
        limits: { maxRunning: subagents.max_running, maxRunningPerUser: subagents.max_running_per_user },
        busyMs: clocks.busyNakMs,
      }),
    dependentRuns: (runId) => held.runsFor(runId),
  };
}

/** The sandboxes of the threads that delegated the tasks of this process. */
const sandboxOfParents = ({ sandboxes, sandboxRegistry }: WorkerBase, held: HeldTasks): SandboxPort =>
  createBorrowedSandbox({
    sandbox: sandboxes,
    lenderOf: (task) => {
      const threadId = held.of(task)?.spec?.parent.thread_id;
      if (threadId === undefined) throw new BugError('a task that is not held asks for a sandbox');
      return { userId: task.userId, threadId };
    },
    currentEpoch: (thread) => sandboxRegistry.currentEpoch(thread),
    clock: systemClock,
  });
