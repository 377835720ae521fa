import { runAgent } from '@caribou/agent';
import { BugError, type CancelAction } from '@caribou/contracts';
import { withAtMostOnce, type SubagentPort, systemClock } from '@caribou/core';
import {
  type SlotLimits,
  type TaskSlots,
  type RedisConnection,
  redisEventLog,
  redisTaskSlots,
  redisTaskStore,
  redisToolJournal,
  taskPart,
} from '@caribou/state';
import { subagentChain } from '@caribou/middleware';
import { noopTracing } from '@caribou/observability';
import { type AfterCancel, endTasksOf, RunExecutor, RunRegistry, SubagentTasks, Sweeper } from '@caribou/runs';
import { leadTools } from '@caribou/tools';
import { createBorrowedSandbox } from '../../../apps/subagent-pool/src/borrowed-sandbox.js';
import { HeldTasks } from '../../../apps/subagent-pool/src/held-tasks.js';
import { createSlottedStore } from '../../../apps/subagent-pool/src/slotted-store.js';
import { TaskWorker } from '../../../apps/subagent-pool/src/task-worker.js';
import { EVENTS_TTL_MS, LEASE_MS, OUTAGE_MS, RENEW_MS, SWEEP_MS } from './clocks.js';
import { planModel, SUBAGENT } from '../virtual/model.js';
import { withCallNames } from '../virtual/network.js';
import type { SimProcess } from '../virtual/scheduler.js';
import { newOwner, startProcessLease } from './process-leases.js';
import { runStoreOf } from './run-stores.js';
import { effectTool, metrics, sandboxOf, storeOf, type SimEnvironment } from './environment.js';

const MAX_TURNS = 25;
const TASK_TIMEOUT_MS = 900_000;
const MAX_QUEUE_MS = 3_600_000;
/** After this long without an event a parent reads the log of its task. */
const CHECK_MS = 5_000;

export const TASK_LIMITS = { maxPendingPerUser: 50, maxPending: 100, keptMs: EVENTS_TTL_MS };

/** Subagents in a runner: delegates tasks, and ends those of a cancelled run. */
export function subagentsOf(
  world: SimEnvironment,
  process: SimProcess,
  redis: RedisConnection,
): { readonly port: SubagentPort; readonly endTasks: AfterCancel } {
  const { bus } = world;
  const tasks = taskPart(redis);
  const taskLog = withCallNames('taskLog', redisEventLog(tasks));
  const ports = {
    store: withCallNames('tasks', redisTaskStore(tasks, TASK_LIMITS)),
    parentLog: withCallNames('parentLog', redisEventLog(redis)),
    bus: {
      publishCancel: (runId: string, _action: CancelAction): void => bus.publishCancel(process, runId),
      subscribeEvents: bus.subscriberOf(process),
    },
    clock: systemClock,
    maxQueueMs: MAX_QUEUE_MS,
    checkMs: CHECK_MS,
  };
  const port = new SubagentTasks({
    ...ports,
    taskLog,
    types: [{ name: SUBAGENT, description: 'works' }],
    wakes: world.taskWakes.of(process),
    termsOf: () => ({ model: 'plan', maxTurns: MAX_TURNS, timeoutMs: TASK_TIMEOUT_MS }),
  });
  return { port, endTasks: (run) => endTasksOf({ ...ports, log: taskLog }, run) };
}

/** Starts a subagent-pool: worker, slots, store, borrowed sandbox, executor and sweeper of the product. */
export function startPool(world: SimEnvironment, process: SimProcess): void {
  const { bus, scheduler, sizes } = world;
  const logger = world.loggerOf(process);
  const redis = storeOf(world, process);
  const tasks = taskPart(redis);
  const held = new HeldTasks();
  const owner = newOwner();
  const slots = withCallNames('slots', redisTaskSlots({ tasks, parents: redis, leaseMs: LEASE_MS, process: owner }));
  const inner = runStoreOf(world, { redis, process: owner, ofTasks: true });
  const taskStore = withCallNames('tasks', redisTaskStore(tasks, TASK_LIMITS));
  const registry = new RunRegistry();
  const executor = executorOf(world, process, {
    redis,
    held,
    registry,
    isOwner: () => processLease.isHeld(),
    store: createSlottedStore({ store: inner, slots, forget: (task) => taskStore.forget(task), held }),
  });
  bus.onCancel(process, (runId) => {
    registry.nudge(runId);
    for (const id of held.runsFor(runId)) registry.nudge(id);
  });
  const wakes = world.taskWakes.of(process);
  const worker = new TaskWorker({
    wakes,
    slots: createSlots(world, slots),
    held,
    executor,
    registry,
    clock: systemClock,
    logger,
    ownSlots: sizes.poolSlots,
    limits: sizes.tasks,
    busyMs: 2_000,
  });
  const processLease = startProcessLease(world, owner, { redis: tasks, store: inner, worker, logger });
  worker.start();
  new Sweeper({
    store: inner,
    wakes,
    worker,
    clock: systemClock,
    logger,
    sweepMs: SWEEP_MS,
    graceMs: RENEW_MS + 500,
    deadLetter: () => Promise.resolve(),
    random: () => scheduler.random.next(),
  }).start();
}

interface PoolParts {
  readonly redis: RedisConnection;
  readonly held: HeldTasks;
  readonly registry: RunRegistry;
  readonly isOwner: () => boolean;
  readonly store: ReturnType<typeof createSlottedStore>;
}

function executorOf(
  world: SimEnvironment,
  process: SimProcess,
  { redis, held, registry, isOwner, store }: PoolParts,
): RunExecutor {
  const logger = world.loggerOf(process);
  const { sandbox: remote, managers } = sandboxOf(world, process, redis);
  const sandbox = createBorrowedSandbox({
    sandbox: remote,
    lenderOf: (task) => {
      const threadId = held.of(task)?.spec?.parent.thread_id;
      if (threadId === undefined) throw new BugError('a task without a slot requests a sandbox');
      return { userId: task.userId, threadId };
    },
    currentEpoch: (thread) => managers.currentEpoch(thread),
    clock: systemClock,
  });
  const model = planModel(process, world);
  const chain = subagentChain({ sandbox, model });
  const calls = withCallNames('calls', redisToolJournal(taskPart(redis)));
  const tools = [...leadTools({ sandbox }), ...withAtMostOnce([effectTool(world, process)], calls)];
  return new RunExecutor({
    store,
    registry,
    isOwner,
    sandbox,
    logger,
    metrics,
    clock: systemClock,
    tracing: noopTracing,
    publisher: { publishEvents: (runId, events, logged) => world.bus.publishEvents(process, runId, events, logged) },
    agent: ({ host, run, claimed, head, position }) =>
      runAgent({
        chain,
        tools,
        model,
        host,
        run,
        position,
        systemPrompt: 'simulated',
        options: { maxTurns: MAX_TURNS },
        state: head.state,
        step: head.metadata?.step ?? 0,
        turnsTaken: claimed.run.llm_call_count,
      }).finally(() => sandbox.release(run)),
    clocks: { leaseMs: LEASE_MS, renewMs: RENEW_MS, outageMs: OUTAGE_MS, eventWindowMs: 100 },
  });
}

/** The slots; with their sabotage a pool ignores the limits. */
function createSlots({ options }: SimEnvironment, slots: TaskSlots): TaskSlots {
  if (options.sabotage !== 'slots') return slots;
  const tooMany = ({ maxRunning, maxRunningPerUser }: SlotLimits): SlotLimits => ({
    maxRunning: maxRunning + 1,
    maxRunningPerUser: maxRunningPerUser + 1,
  });
  return { ...slots, acquire: (limits) => slots.acquire(tooMany(limits)) };
}
