import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBus, createRemoteSandbox, createRpcClient } from '@caribou/bus';
import { newId, SandboxAcquire } from '@caribou/contracts';
import { type SandboxScope, silentLogger } from '@caribou/core';
import { BwrapDriver, DEFAULT_SANDBOX_LIMITS } from '@caribou/sandbox';
import { createRedis, redisSandboxRegistry } from '@caribou/state';
import type { Fleet } from './fleet.js';
import { timed } from './long-thread.js';
import { inTurn, median, quantile } from './sample.js';
import { newThread, postJson } from './turns.js';

export interface SandboxCost {
  /** `true` by the driver alone, and by RPC through the sandbox-manager; medians in milliseconds. */
  readonly driverMs: number;
  readonly managerMs: number;
  readonly coldAcquireMs: number;
  readonly warmAcquireMs: { readonly p50: number; readonly p99: number };
}

const COMMAND = 'true';
const TIMEOUT_MS = 30_000;
const MAX_OUTPUT_BYTES = 1_024;

/** What the sandbox-manager adds to a driver, or why there is no sandbox here. */
export async function sandboxCost(fleet: Fleet, repeats: number): Promise<SandboxCost | string> {
  const homeDir = join(fleet.homeDir, '../own-driver');
  await mkdir(homeDir, { mode: 0o711 });
  const driver = new BwrapDriver({ driver: 'bwrap', image: '', limits: DEFAULT_SANDBOX_LIMITS, homeDir });
  const probe = await driver.probe();
  if (!probe.ok) return probe.reason;
  const box = { sandboxId: 'bench', managerId: newId(), userId: 'bench', threadId: 'bench' };
  await driver.create(box, { fresh: true });
  const own = (): Promise<unknown> =>
    driver.exec(
      box,
      { command: COMMAND, timeoutMs: TIMEOUT_MS, maxOutputBytes: MAX_OUTPUT_BYTES },
      new AbortController().signal,
    );
  return withManager(fleet, async ({ exec, acquire }) => {
    const coldAcquireMs = await timed(acquire);
    await inTurn(3, () => Promise.all([own(), exec()]));
    const pairs = await inTurn(repeats, async () => ({ driverMs: await timed(own), managerMs: await timed(exec) }));
    const warm = await inTurn(repeats, () => timed(acquire));
    return {
      driverMs: median(pairs.map((pair) => pair.driverMs)),
      managerMs: median(pairs.map((pair) => pair.managerMs)),
      coldAcquireMs,
      warmAcquireMs: { p50: median(warm), p99: quantile(warm, 0.99) },
    };
  });
}

interface ManagerCalls {
  readonly exec: () => Promise<void>;
  readonly acquire: () => Promise<void>;
}

/** Calls of a sandbox-manager on behalf of a thread whose run the model holds, so that its lease lives meanwhile. */
async function withManager<Result>(fleet: Fleet, measure: (calls: ManagerCalls) => Promise<Result>): Promise<Result> {
  const redis = createRedis({ url: fleet.redisUrl });
  const bus = connectBus({ url: fleet.natsUrl, name: 'bench', logger: silentLogger, streams: [] });
  const registry = redisSandboxRegistry(redis);
  const rpc = createRpcClient(bus);
  try {
    await bus.whenConnected();
    const threadId = await newThread(fleet.apiUrl);
    const input = { messages: [{ type: 'human', content: `#hold ${threadId}` }] };
    const runsUrl = `${fleet.apiUrl}/threads/${threadId}/runs`;
    const run = await postJson(runsUrl, { assistant_id: 'lead_agent', input });
    const scope: SandboxScope = { userId: 'default', threadId, epoch: await epochOf(registry, threadId) };
    const sandbox = createRemoteSandbox({
      rpc,
      outputs: bus,
      isManagerAlive: (managerId) => registry.isManagerAlive(managerId),
      logger: silentLogger,
    });
    const result = await measure({
      exec: async () => {
        const request = { key: newId(), command: COMMAND, timeoutMs: TIMEOUT_MS, maxOutputBytes: MAX_OUTPUT_BYTES };
        const outcome = await sandbox.exec(scope, request, AbortSignal.timeout(TIMEOUT_MS));
        if (outcome.outcome !== 'done' || outcome.exitCode !== 0) throw new Error(`exec: ${JSON.stringify(outcome)}`);
      },
      acquire: async () => {
        await rpc.call(
          { contract: SandboxAcquire },
          { user_id: scope.userId, thread_id: threadId, epoch: scope.epoch },
        );
      },
    });
    await fetch(`${runsUrl}/${String(run['run_id'])}/cancel?wait=1`, {
      method: 'POST',
      signal: AbortSignal.timeout(35_000),
    });
    return result;
  } finally {
    await bus.close();
    await redis.close();
  }
}

/** Waits until a runner owns the thread. */
async function epochOf(registry: ReturnType<typeof redisSandboxRegistry>, threadId: string): Promise<number> {
  const deadlineMs = performance.now() + 10_000;
  for (;;) {
    const epoch = await registry.currentEpoch({ userId: 'default', threadId });
    if (epoch !== 0) return epoch;
    if (performance.now() > deadlineMs) throw new Error('no runner took the thread');
    await new Promise((done) => setTimeout(done, 20));
  }
}
