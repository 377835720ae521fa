import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBus, createRemoteSandbox } from '@caribou/bus';
import { defaultSandboxConfig } from '@caribou/config';
import { newId, SandboxAcquire, type SandboxDriverKind } from '@caribou/contracts';
import { type SandboxScope, silentLogger } from '@caribou/core';
import { sandboxMounts } from '@caribou/files';
import { createDriver, type SandboxDriver, sandboxSettings } from '@caribou/sandbox';
import { createRedis, redisExecutionJournal, redisSandboxRegistry } from '@caribou/state';
import type { Fleet } from '../fleet.js';
import { CALL_TIMEOUT_MS, type SandboxCalls, sandboxCalls } from '../sandbox-calls.js';
import { measureMs } from './long-thread.js';
import { inTurn, median, quantile } from '../sample.js';

/** Milliseconds. */
export interface Spread {
  readonly p50: number;
  readonly p99: number;
}

export interface SandboxCost {
  readonly coldAcquire: Spread;
  readonly warmAcquire: Spread;
  /** `true` by the driver alone, and by RPC through the sandbox-manager with its journal and audit. */
  readonly driverExec: Spread;
  readonly managerExec: Spread;
  /** 1 MiB in one request, other bytes each time, and read in replies of 256 KiB. */
  readonly write: Spread;
  readonly read: Spread;
  readonly crowd: Crowd;
}

export interface Crowd {
  readonly sandboxes: number;
  /** Until a command has run in each, sandboxes made included. */
  readonly totalMs: number;
  readonly failures: number;
}

const CROWD = 64;

const spread = (values: readonly number[]): Spread => ({ p50: median(values), p99: quantile(values, 0.99) });

function driverOf(kind: SandboxDriverKind, homeDir: string): SandboxDriver {
  const section = { ...defaultSandboxConfig(), driver: kind };
  return createDriver(
    kind,
    sandboxSettings(section, { homeDir, runDir: join(homeDir, 'run'), mounts: sandboxMounts(homeDir) }),
  );
}

/** Why sandboxes of this kind cannot be used on this machine, or null. */
export async function sandboxMissing(kind: SandboxDriverKind, homeDir: string): Promise<string | null> {
  const probe = await driverOf(kind, homeDir).probe();
  return probe.ok ? null : probe.reason;
}

/** Measures the sandboxes of a fleet, and the driver alone. */
export async function sandboxCost(fleet: Fleet, kind: SandboxDriverKind, repeats: number): Promise<SandboxCost> {
  const homeDir = join(fleet.homeDir, '../own-driver');
  await mkdir(homeDir, { mode: 0o711, recursive: true });
  const driver = driverOf(kind, homeDir);
  await driver.probe();
  const sandbox = { sandboxId: `caribou-bench-${newId()}`, managerId: newId(), userId: 'bench', threadId: 'bench' };
  await driver.create(sandbox, { fresh: true });
  const command = { command: 'true', timeoutMs: CALL_TIMEOUT_MS, maxOutputBytes: 1_024 };
  const execDirectly = async (): Promise<void> =>
    void (await driver.exec(sandbox, command, new AbortController().signal));
  try {
    return await withManager(fleet, async (calls) => {
      const exec = (): Promise<void> => calls.exec('warm');
      const cold = await inTurn(Math.min(repeats, 20), (index) => measureMs(() => calls.acquire(`cold-${index}`)));
      await calls.acquire('warm');
      await inTurn(3, () => Promise.all([execDirectly(), exec()]));
      const pairs = await inTurn(repeats, async () => ({
        own: await measureMs(execDirectly),
        exec: await measureMs(exec),
      }));
      const files = await inTurn(repeats, async () => ({
        write: await measureMs(() => calls.write('warm')),
        read: await measureMs(() => calls.read('warm')),
      }));
      return {
        coldAcquire: spread(cold),
        warmAcquire: spread(await inTurn(repeats, () => measureMs(() => calls.acquire('warm')))),
        driverExec: spread(pairs.map((pair) => pair.own)),
        managerExec: spread(pairs.map((pair) => pair.exec)),
        write: spread(files.map((file) => file.write)),
        read: spread(files.map((file) => file.read)),
        crowd: await crowd(calls),
      };
    });
  } finally {
    await driver.remove(sandbox);
    // A fleet is killed at the end and leaves its containers.
    const left = driverOf(kind, fleet.homeDir);
    for (const listed of await left.list()) await left.removeInstance(listed);
  }
}

async function crowd(calls: ManagerCalls): Promise<Crowd> {
  const beganMs = performance.now();
  const all = await Promise.allSettled(Array.from({ length: CROWD }, (_, index) => calls.exec(`crowd-${index}`)));
  return {
    sandboxes: CROWD,
    totalMs: performance.now() - beganMs,
    failures: all.filter(({ status }) => status === 'rejected').length,
  };
}

/** Calls on behalf of a thread of that name. */
interface ManagerCalls extends SandboxCalls<[name: string]> {
  acquire(name: string): Promise<void>;
}

/** Calls the fleet's sandbox-manager, for threads whose lease the bench holds instead of a runner. */
async function withManager<Result>(fleet: Fleet, measure: (calls: ManagerCalls) => Promise<Result>): Promise<Result> {
  const redis = createRedis({ url: fleet.redisUrl });
  const bus = connectBus({ url: fleet.natsUrl, name: 'bench', logger: silentLogger, streams: [] });
  const registry = redisSandboxRegistry(redis);
  const suffix = newId().slice(0, 8);
  const scopeOf = async (name: string): Promise<SandboxScope> => {
    const scope = { userId: 'bench', threadId: `${name}-${suffix}`, epoch: 1 };
    const { lease } = redis.keys.thread(scope);
    await redis.use((client) => client.set(lease, `bench:${scope.epoch}`, 'PX', 600_000));
    return scope;
  };
  try {
    await bus.waitUntilConnected();
    const journal = redisExecutionJournal(redis);
    const sandbox = createRemoteSandbox({ bus, registry, journal, logger: silentLogger });
    return await measure({
      ...sandboxCalls({ sandbox, scopeOf, newId }),
      acquire: async (name) => {
        const { userId, threadId, epoch } = await scopeOf(name);
        await bus.call({ contract: SandboxAcquire }, { user_id: userId, thread_id: threadId, epoch });
      },
    });
  } finally {
    await bus.close();
    await redis.close();
  }
}
