import { type Bus, connectBus } from '@caribou/bus';
import type { Config } from '@caribou/config';
import { busAccess, FleetSandboxes, newId } from '@caribou/contracts';
import { commandIdentity, type Logger, type SandboxRegistry, systemClock, type ThreadKey } from '@caribou/core';
import { type HealthCheck, ProcessReport } from '@caribou/service';
import { createMetrics, type Metrics } from '@caribou/observability';
import { sandboxMounts, SharedVolume, threadFiles, WorkspaceQuota } from '@caribou/files';
import {
  LeaseGuard,
  ManagerRecords,
  prepareRunDirectory,
  releaseUsersOf,
  type SandboxDrivers,
  sandboxDrivers,
  sandboxIdOf,
  type SandboxSettings,
  sandboxSettings,
} from '@caribou/sandbox';
import {
  createRedis,
  redisAuditLog,
  redisExecutionJournal,
  redisSandboxRegistry,
  redisVolumeRegistry,
  type RedisConnection,
} from '@caribou/state';
import { type DynamicModule, Module } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { AuditInterceptor } from './rpc/audit.interceptor.js';
import { AuditTrail } from './audit/audit-trail.js';
import { SandboxReaper } from './machine/sandbox-reaper.js';
import { EgressTrail } from './audit/egress-trail.js';
import { createLeaseLostError, Executor } from './executions/executor.js';
import { type FilePlane, openFilePlane, poolHooksOf } from './files/open-file-plane.js';
import { FinishedExecutions } from './executions/finished-executions.js';
import { DeadManagers, type DeadManagersOptions } from './machine/dead-managers.js';
import { EarlierManagers } from './machine/earlier-managers.js';
import { createLease } from './machine/create-lease.js';
import type { ManagerLease } from './machine/manager-lease.js';
import { ManagerSocket } from './machine/manager-socket.js';
import { podSurroundings } from './machine/pod-surroundings.js';
import { type MachineSkills, openSkills } from './machine/open-skills.js';
import { createSandboxEgress } from './audit/sandbox-egress.js';
import { HeldSandboxes } from './rpc/held-sandboxes.js';
import { SANDBOX_PARTS, SandboxHandlers, type SandboxParts } from './rpc/sandbox.handlers.js';
import { SandboxPool } from './executions/sandbox-pool.js';

/** Grace for a manager whose lease has expired, in renewal intervals: one for its next renewal, and a reserve. */
const LAPSE_GRACE_RENEWALS = 1.25;
const MAX_WAITING_PER_SANDBOX = 32;
const MAX_RUNNING = 512;
/** How often a manager checks whether others of its machine have ended: part of the time of a takeover. */
const DEAD_MANAGERS_MS = 500;
/** Audit lines that may wait for Redis: at most about 20 MB. */
const MAX_AUDIT_WAITING = 10_000;

/** The dependencies of the sandbox-manager; only app.module.ts builds adapters. */
export interface ManagerParts extends SandboxParts {
  readonly managerId: string;
  readonly redis: RedisConnection;
  /** A connection for publishing live output; Nest's own connection only answers requests. */
  readonly outputs: Bus;
  readonly held: HeldSandboxes;
  readonly lease: ManagerLease;
  /** Ends commands at the end of the lease when this process cannot. */
  readonly guard: LeaseGuard;
  /** Shows other managers of this machine that this process has not ended. */
  readonly socket: ManagerSocket;
  readonly deadManagers: DeadManagers;
  readonly earlierManagers: EarlierManagers;
  readonly reaper: SandboxReaper;
  readonly audit: AuditTrail;
  readonly volume: SharedVolume;
  readonly plane: FilePlane;
  readonly drivers: SandboxDrivers;
  readonly skills: MachineSkills;
  /** Ends the network connections of sandboxes, if sandboxes have a network. */
  readonly closeEgress: () => void;
  readonly metrics: Metrics;
  /** Checks of everything that this service needs to execute a command. */
  readonly checks: readonly HealthCheck[];
  /** What this process answers about itself. */
  readonly report: ProcessReport;
}

@Module({})
export class AppModule {
  static on(parts: ManagerParts): DynamicModule {
    const { managerId, audit, pool } = parts;
    const driverOf = (sandboxId: string): string | undefined => pool.driverOf(sandboxId);
    const interceptor = new AuditInterceptor({ managerId, trail: audit, clock: systemClock, driverOf });
    const providers = [
      { provide: SANDBOX_PARTS, useValue: parts },
      { provide: APP_INTERCEPTOR, useValue: interceptor },
    ];
    return { module: AppModule, controllers: [SandboxHandlers], providers };
  }
}

/**
 * Builds the manager. Its connection to Redis is made in the background and retried without end.
 *
 * @throws {UnavailableError} when CARIBOU_RUN_DIR cannot be used
 */
export function connectParts(config: Config, logger: Logger): ManagerParts {
  const managerId = newId();
  const { idleMs, reapMs, leftoverGraceMs } = config.sandbox;
  const clock = systemClock;
  const metrics = createMetrics({ service: 'sandbox-manager' });
  const redis = connectRedis(config, metrics, logger);
  const audit = new AuditTrail({ log: redisAuditLog(redis), clock, logger, maxWaiting: MAX_AUDIT_WAITING });
  const skills = openSkills(config, { redis, logger });
  const isHeld = (): boolean => lease.isHeld();
  const registry = redisSandboxRegistry(redis);
  const plane = openFilePlane(config, { managerId, redis, logger, pool: () => pool, registry });
  const { storingWrites } = plane;
  const driverParts = { managerId, skills, audit, logger, isHeld, storingWrites };
  const { settings, drivers, files, quota, closeEgress } = createDrivers(config, driverParts);
  const journal = redisExecutionJournal(redis);
  const shared = { managerId, registry, drivers, clock, logger };
  const watched = watchManagers(settings, shared);
  const pool = new SandboxPool({
    ...shared,
    sandboxIdOf: (thread) => sandboxIdOf(settings, thread),
    beforeCreate: (driver) => watched.socket.addDriver(driver),
    onReady: (durationMs) => metrics.sandboxReady(durationMs),
    ...poolHooksOf(plane),
    maxSandboxes: config.sandbox.maxBoxes,
    idleMs,
    maxWaiting: MAX_WAITING_PER_SANDBOX,
    graceMs: LAPSE_GRACE_RENEWALS * config.clocks.managerRenewMs,
  });
  const volume = new SharedVolume(redisVolumeRegistry(redis), settings.homeDir);
  const guard = new LeaseGuard({ runDir: settings.runDir, managerId, logger });
  const lease: ManagerLease = createLease(config, {
    ...{ managerId, registry, clock, logger, guard },
    mayHold: () => (plane.isStored ? Promise.resolve() : volume.ensure()),
    onRenewed: async (lapsed) => {
      if (lapsed) executor.endThreads(await pool.dropForeign());
    },
    onLapsed: () => executor.endAll(),
  });
  const reaper = new SandboxReaper({
    ...shared,
    pool,
    reapMs,
    graceMs: Math.max(leftoverGraceMs, config.clocks.managerLeaseMs),
  });
  const finished = new FinishedExecutions();
  const executor = new Executor({
    journal,
    files: plane.sync,
    registry,
    pool,
    lease,
    clock,
    logger,
    finished,
    maxRunning: MAX_RUNNING,
  });
  measureHoldings(metrics, { pool, executor, finished, drivers, maxSandboxes: config.sandbox.maxBoxes });
  const diskBytes = (thread: ThreadKey): number | undefined => quota.lastUsage(thread)?.bytes;
  const checks = checksOf({ managerId, registry, drivers, volume: plane.isStored ? undefined : volume });
  return {
    managerId,
    pool,
    executor,
    drivers,
    lease,
    guard,
    ...watched,
    reaper,
    redis,
    metrics,
    audit,
    volume,
    closeEgress,
    outputs: connectOutputs(config, logger),
    ...{ files, sync: plane.sync, plane, skills },
    held: new HeldSandboxes({ managerId, pool, executor, diskBytes, clock }),
    report: new ProcessReport({ service: 'sandbox-manager', processId: managerId, metrics, checks }),
    checks,
  };
}

interface Checked {
  readonly managerId: string;
  readonly registry: SandboxRegistry;
  readonly drivers: Pick<SandboxDrivers, 'forNewThread'>;
  /** Absent when files are in an object store. */
  readonly volume: SharedVolume | undefined;
}

const checksOf = ({ managerId, registry, drivers, volume }: Checked): readonly HealthCheck[] => [
  { name: 'redis', check: () => registry.isManagerAlive(managerId) },
  ...(volume === undefined ? [] : [{ name: 'volume', check: () => volume.ensure() }]),
  { name: 'sandbox', check: () => drivers.forNewThread() },
];

/** Answers the questions of gateways about this process and its sandboxes, from now on. */
export function answerQuestions({ outputs, report, held }: ManagerParts): void {
  report.start(outputs);
  outputs.answerAll(FleetSandboxes, (asked) => Promise.resolve(held.list(asked)));
}

/** Makes the end of this process visible to other managers of the machine, and the end of theirs to this one. */
function watchManagers(
  { runDir, homeDir }: SandboxSettings,
  parts: Pick<DeadManagersOptions, 'managerId' | 'registry' | 'drivers' | 'clock' | 'logger'>,
) {
  const records = new ManagerRecords(runDir);
  const options = { ...parts, everyMs: DEAD_MANAGERS_MS };
  return {
    socket: new ManagerSocket({ managerId: parts.managerId, records, logger: parts.logger }),
    deadManagers: new DeadManagers({ ...options, records, onGone: (id) => releaseUsersOf(id, { runDir }) }),
    earlierManagers: new EarlierManagers(homeDir, options),
  };
}

function connectRedis({ redis }: Config, metrics: Metrics, logger: Logger): RedisConnection {
  const onScript = (name: string, durationMs: number): void => metrics.scriptEnded(name, durationMs);
  return createRedis({ url: redis.url.reveal(), ...redis.security.reveal(), logger, onScript });
}

interface Holdings {
  readonly pool: SandboxPool;
  readonly executor: Executor;
  readonly finished: FinishedExecutions;
  readonly drivers: Pick<SandboxDrivers, 'warmSandboxes'>;
  readonly maxSandboxes: number;
}

function measureHoldings(metrics: Metrics, { pool, executor, finished, drivers, maxSandboxes }: Holdings): void {
  metrics.measureSlots('sandboxes', { used: () => pool.size, limit: maxSandboxes });
  metrics.measureSlots('executions', { used: () => executor.size, limit: MAX_RUNNING });
  metrics.measureCache('finished_executions', finished.bytes);
  metrics.measure('warm_sandboxes', () => drivers.warmSandboxes());
}

/** The sandbox drivers of this machine with their mounts, quotas and egress proxy. */
function createDrivers(
  config: Config,
  parts: Pick<ManagerParts, 'managerId' | 'skills' | 'audit'> &
    Pick<FilePlane, 'storingWrites'> & { readonly logger: Logger; readonly isHeld: () => boolean },
) {
  const { managerId, skills, audit, logger, isHeld, storingWrites } = parts;
  const clock = systemClock;
  const egressTrail = new EgressTrail({ managerId, trail: audit, clock, logger });
  const egress = createSandboxEgress(config.sandbox.network, egressTrail);
  const settings = sandboxSettings(config.sandbox, {
    homeDir: config.homeDir,
    runDir: config.runDir,
    mayStart: isHeld,
    mounts: sandboxMounts(config.homeDir, skills.mount),
    ...podSurroundings(config, { managerId, logger }),
    ...(egress === undefined ? {} : { network: egress.network }),
  });
  prepareRunDirectory(settings.runDir);
  const ownFiles = threadFiles(settings.homeDir, commandIdentity(), {
    skills: skills.mount,
    requireMayWrite: () => {
      if (!isHeld()) throw createLeaseLostError();
    },
  });
  const quota = new WorkspaceQuota(ownFiles, config.sandbox.limits);
  const drivers = sandboxDrivers(settings, clock, quota, (driver, reason) =>
    logger.warn({ event: 'sandbox.probe', outcome: 'error', driver, reason }, 'a sandbox driver cannot be used'),
  );
  return { settings, drivers, quota, files: quota.guard(storingWrites(ownFiles)), closeEgress: () => egress?.close() };
}

const connectOutputs = (config: Config, logger: Logger): ManagerParts['outputs'] =>
  connectBus({
    url: config.nats.url.reveal(),
    ...config.nats.security.reveal(),
    name: 'sandbox-manager',
    access: busAccess('sandbox-manager'),
    logger,
    streams: [],
  });
