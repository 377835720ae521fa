import { runAgent } from '@caribou/agent';
import {
  type LogFields,
  managerSubject,
  newId,
  SandboxAcquire,
  SandboxCancel,
  SandboxExec,
  SandboxRelease,
} from '@caribou/contracts';
import { type Logger, type OfferedRun, type ThreadKey, withAtMostOnce, systemClock } from '@caribou/core';
import { leadChain } from '@caribou/middleware';
import { noopTracing } from '@caribou/observability';
import { RunExecutor, RunRegistry, Sweeper, TurnWorker } from '@caribou/runs';
import { handoffsOf } from '../virtual/offers.js';
import {
  HeadCache,
  redisExecutionJournal,
  redisSandboxRegistry,
  redisThreadStore,
  redisToolJournal,
  redisTurnQueue,
} from '@caribou/state';
import { leadTools, taskTool } from '@caribou/tools';
import { dispatchTurn } from '../../../apps/gateway/src/runs/turn-dispatch.js';
import { type BeginLimits, withBegunRuns } from '../../../apps/gateway/src/stores/begun-runs.js';
import { Executor } from '../../../apps/sandbox-manager/src/executions/executor.js';
import { SHARED_FILES } from '../../../apps/sandbox-manager/src/files/thread-file-sync.js';
import { FinishedExecutions } from '../../../apps/sandbox-manager/src/executions/finished-executions.js';
import { ManagerLease } from '../../../apps/sandbox-manager/src/machine/manager-lease.js';
import { SandboxHandlers } from '../../../apps/sandbox-manager/src/rpc/sandbox.handlers.js';
import { SandboxPool } from '../../../apps/sandbox-manager/src/executions/sandbox-pool.js';
import { EVENTS_TTL_MS, LEASE_MS, OUTAGE_MS, RENEW_MS, SWEEP_MS } from './clocks.js';
import { planModel } from '../virtual/model.js';
import { withCallNames } from '../virtual/network.js';
import type { SimProcess } from '../virtual/scheduler.js';
import { newOwner, startProcessLease } from './process-leases.js';
import { runLimitOf, runStoreOf } from './run-stores.js';
import { effectTool, metrics, sandboxOf, storeOf, type SimEnvironment } from './environment.js';
import { subagentsOf } from './task-processes.js';

/** More than the states of a history. */
const HEAD_CACHE_BYTES = 1024 * 1024;
/** More executions than a history has. */
const MAX_REMEMBERED = 200;

/** Starts an agent-runner: worker, executor and sweeper of the product. */
export function startRunner(world: SimEnvironment, process: SimProcess): void {
  const { bus, scheduler } = world;
  const logger = world.loggerOf(process);
  const redis = storeOf(world, process);
  const owner = newOwner();
  const heads = new HeadCache(HEAD_CACHE_BYTES);
  const store = runStoreOf(world, { redis, process: owner, ofTasks: false, heads });
  const maxRunningPerUser = runLimitOf(world);
  const { sandbox } = sandboxOf(world, process, redis);
  const subagents = world.hasTasks ? subagentsOf(world, process, redis) : undefined;
  const model = planModel(process, world);
  const chain = leadChain({ sandbox, model });
  const calls = withCallNames('calls', redisToolJournal(redis));
  const own = [...leadTools({ sandbox }), ...withAtMostOnce([effectTool(world, process)], calls)];
  const names = own.map(({ name }) => name);
  const tools = [...own, ...(subagents === undefined ? [] : [taskTool(subagents.port, names)])];
  const registry = new RunRegistry();
  const executor = new RunExecutor({
    store,
    registry,
    sandbox,
    logger,
    metrics,
    clock: systemClock,
    tracing: noopTracing,
    isOwner: () => processLease.isHeld(),
    publisher: { publishEvents: (runId, events, logged) => bus.publishEvents(process, runId, events, logged) },
    ...(subagents === undefined ? {} : { afterCancel: subagents.endTasks }),
    agent: ({ host, run, head, position, turnsTaken }) =>
      runAgent({
        chain,
        tools,
        model,
        host,
        run,
        position,
        turnsTaken,
        systemPrompt: 'simulated',
        options: { maxTurns: 25 },
        state: head.state,
        step: head.metadata?.step ?? 0,
      }),
    clocks: { leaseMs: LEASE_MS, renewMs: RENEW_MS, outageMs: OUTAGE_MS, eventWindowMs: 100 },
  });
  bus.onCancel(process, (runId) => registry.nudge(runId));
  const wakes = world.wakes.of(process);
  const worker = new TurnWorker({
    wakes,
    handoffs: handoffsOf(bus, process),
    queue: withCallNames('turns', redisTurnQueue(redis, { maxRunningPerUser, weights: {} })),
    executor,
    registry,
    metrics,
    logger,
    slots: world.sizes.runnerSlots,
    takeoverSlots: world.options.sabotage === 'takeover' ? 0 : 2,
  });
  const processLease = startProcessLease(world, owner, { redis, store, worker, logger });
  worker.start();
  new Sweeper({
    store,
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

/** Starts a sandbox-manager: lease, pool, executor and handlers of the product over a simulated machine. */
export function startManager(world: SimEnvironment, process: SimProcess): void {
  const { bus, machine } = world;
  const logger = world.loggerOf(process);
  const managerId = newId();
  const redis = storeOf(world, process);
  const registry = withCallNames('managers', redisSandboxRegistry(redis));
  const journal = withCallNames('journal', redisExecutionJournal(redis));
  const clock = systemClock;
  const driver = machine.driverOf(process);
  const only = () => Promise.resolve(driver);
  const pool = new SandboxPool({
    managerId,
    registry,
    clock,
    logger,
    drivers: {
      forNewThread: only,
      ofKind: only,
      usable: () => Promise.resolve([driver]),
      warmSandboxes: () => 0,
      close: () => Promise.resolve(),
    },
    sandboxIdOf: ({ threadId }) => `sandbox-${threadId}`,
    maxSandboxes: 10,
    idleMs: 3_600_000,
    maxWaiting: 32,
    graceMs: 1.25 * RENEW_MS,
  });
  const lease: ManagerLease = new ManagerLease({
    managerId,
    registry,
    clock,
    uptimeMs: () => clock.monotonicMs(),
    logger,
    leaseMs: LEASE_MS,
    renewMs: RENEW_MS,
    mayHold: () => Promise.resolve(),
    onRenewed: async (lapsed) => {
      if (lapsed) executor.endThreads(await pool.dropForeign());
    },
    onProlonged: () => undefined,
    onLapsed: () => executor.endAll(),
  });
  const finished = world.options.sabotage === 'memory' ? NO_MEMORY : new FinishedExecutions(MAX_REMEMBERED);
  const executor: Executor = new Executor({
    journal,
    files: SHARED_FILES,
    registry,
    pool,
    lease,
    finished,
    clock,
    logger,
    maxRunning: 512,
  });
  const handlers = new SandboxHandlers({
    pool,
    executor,
    drivers: { forNewThread: only },
    files: noFiles,
    sync: SHARED_FILES,
    plane: {},
    outputs: { publishOutput: () => undefined },
    held: { end: () => Promise.reject(new Error('the simulator has no administrators')) },
  });
  bus.serve(process, SandboxAcquire.name, (payload) => handlers.acquire(payload));
  const own = (contract: { readonly name: string }): string => managerSubject(managerId, contract);
  bus.serve(process, own(SandboxExec), async (payload) => handlers.exec(payload));
  bus.serve(process, own(SandboxCancel), (payload) => handlers.cancel(payload));
  bus.serve(process, own(SandboxRelease), async (payload) => handlers.release(payload));
  lease.start();
}

/** A manager without a record of what it executed. */
const NO_MEMORY = { add: () => undefined, find: () => undefined };

/** No simulated tool opens files. */
const noFiles = new Proxy({} as ConstructorParameters<typeof SandboxHandlers>[0]['files'], {
  get: () => () => Promise.reject(new Error('the simulator has no files')),
});

/** Quotas of a user; his budgets. */
const LIMITS: BeginLimits = {
  quotas: { maxRunsPerUser: 1_000, maxStateBytes: 0, maxRunBytesPerUser: 0 },
  usage: { userBudgetPerDay: null, keyBudgetPerDay: null },
  runner: { maxRunningPerUser: 0 },
};

/** Streams of the simulator read the log. */
const expectEvents = () => (): void => undefined;

/** The gateway's access to the store and the bus. */
export function gatewayPorts(world: SimEnvironment, process: SimProcess) {
  const redis = storeOf(world, process);
  const handoffs = handoffsOf(world.bus, process);
  const stored = redisThreadStore(redis, {
    leaseMs: LEASE_MS,
    eventsTtlMs: EVENTS_TTL_MS,
    heads: new HeadCache(HEAD_CACHE_BYTES),
  });
  const threads = withCallNames(
    'threads',
    withBegunRuns(stored, { handoffs: { ...handoffs, expectEvents }, metrics, tracedAs: undefined }, LIMITS),
  );
  const dispatch = (thread: ThreadKey, run?: OfferedRun): Promise<void> =>
    dispatchTurn(
      {
        handoffs,
        queue: withCallNames('turns', redisTurnQueue(redis)),
        wakes: world.wakes.of(process),
        metrics,
        logger: world.loggerOf(process),
      },
      thread,
      run,
    );
  return { threads, dispatch };
}

/** A logger that adds the product's warnings to the trace. */
export function tracingLogger(note: (line: string) => void, onError: (event: string, error: unknown) => void): Logger {
  const line = (fields: LogFields, message: string): string => {
    const error: unknown = fields.error ?? fields.reason;
    return `log ${message}${error instanceof Error ? `: ${error.name}: ${error.message}` : ''}`;
  };
  const logger: Logger = {
    debug: () => undefined,
    info: () => undefined,
    warn: (fields, message) => note(line(fields, message)),
    error: (fields, message) => {
      note(line(fields, message));
      onError(message, fields.error);
    },
    child: () => logger,
  };
  return logger;
}
