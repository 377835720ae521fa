import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Bus, connectBus, createRemoteSandbox, natsTarget } from '@caribou/bus';
import { type ClocksConfig, type FilesConfig, loadConfig } from '@caribou/config';
import { omitUndefined } from '@caribou/contracts';
import { type SandboxPort, silentLogger } from '@caribou/core';
import { RpcErrorFilter, rpcServerOptions } from '@caribou/nest';
import { createRedis, type RedisConnection, redisExecutionJournal, redisSandboxRegistry } from '@caribou/state';
import { startNats, startRedis, type TestServer, waitFor } from '@caribou/testing';
import type { INestMicroservice } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule, connectParts, type ManagerParts } from '../app.module.js';

export const scope = { userId: 'default', threadId: 'thread-1', epoch: 1 };
export const limits = { timeout_ms: 20_000, max_output_bytes: 8192 };
export const notAborted = new AbortController().signal;

const START_TIMEOUT_MS = 60_000;

export interface RunningManager {
  readonly parts: ManagerParts;
  readonly app: INestMicroservice;
}

export interface TestMachine {
  readonly home: string;
  readonly files?: FilesConfig;
}

/** Managers with bubblewrap, on a NATS and a Redis of their own, and the client that a runner has for them. */
export class ManagerFixture {
  readonly home = mkdtempSync(join(tmpdir(), 'caribou-manager-'));
  readonly running: RunningManager[] = [];
  readonly redis: RedisConnection;
  readonly bus: Bus;
  readonly remote: SandboxPort;
  private keys = 0;

  private constructor(
    readonly nats: TestServer,
    readonly redisServer: TestServer,
  ) {
    chmodSync(this.home, 0o755);
    this.redis = createRedis({ url: redisServer.url, logger: silentLogger });
    this.bus = connectBus({ url: nats.url, name: 'test', logger: silentLogger, streams: [] });
    this.remote = createRemoteSandbox({
      bus: this.bus,
      registry: redisSandboxRegistry(this.redis),
      journal: redisExecutionJournal(this.redis),
      logger: silentLogger,
      lookMs: 100,
    });
  }

  /** Starts one manager and gives the thread of `scope` its first owner. */
  static async open(first?: (fixture: ManagerFixture) => Promise<unknown>): Promise<ManagerFixture> {
    const [nats, redisServer] = await Promise.all([startNats(), startRedis()]);
    const fixture = new ManagerFixture(nats, redisServer);
    await fixture.bus.waitUntilConnected();
    await fixture.setLease(scope);
    await (first?.(fixture) ?? fixture.startManager());
    return fixture;
  }

  async close(): Promise<void> {
    for (const manager of [...this.running]) await this.stop(manager);
    await this.bus.close();
    await this.redis.close();
    await Promise.all([this.nats.stop(), this.redisServer.stop()]);
    rmSync(this.home, { recursive: true, force: true });
  }

  newKey(): string {
    return `run:call_${(this.keys += 1)}`;
  }

  async setLease(thread: typeof scope): Promise<void> {
    const { lease } = this.redis.keys.thread(thread);
    await this.redis.use((client) => client.set(lease, `owner:${thread.epoch}`, 'PX', 600_000));
  }

  /** @param machine a home of its own, and the object store of all machines; default: the fixture's home for all */
  async startManager(
    redisUrl = this.redisServer.url,
    clocks: Partial<ClocksConfig> = {},
    machine: TestMachine = { home: this.home },
  ): Promise<RunningManager> {
    const runDir = join(machine.home, 'run');
    const env = { NATS_URL: this.nats.url, REDIS_URL: redisUrl, CARIBOU_HOME: machine.home, CARIBOU_RUN_DIR: runDir };
    const config = { ...loadConfig(env, this.home), ...omitUndefined({ files: machine.files }) };
    const own = { ...config.sandbox.limits, workspaceBytes: 8 * 1024 * 1024 };
    const sandbox = { ...config.sandbox, driver: 'bwrap', limits: own } as const;
    const parts = connectParts({ ...config, sandbox, clocks: { ...config.clocks, ...clocks } }, silentLogger);
    const options = { target: natsTarget(this.nats.url), queue: 'sandbox-manager', logger: silentLogger };
    const app = await NestFactory.createMicroservice(AppModule.on(parts), {
      ...rpcServerOptions({
        ...options,
        subjectParams: { manager_id: parts.managerId, machine: parts.plane.machine ?? parts.managerId },
      }),
      logger: false,
    });
    app.useGlobalFilters(new RpcErrorFilter(silentLogger));
    parts.lease.start();
    await app.listen();
    await waitFor(() => parts.lease.isHeld(), { what: 'the lease' });
    parts.plane.leftChanges?.rounds.start();
    const manager = { parts, app };
    this.running.push(manager);
    return manager;
  }

  /** Ends replies and lease, which is what others see of a crash; commands run until another manager ends them. */
  async crash({ app, parts }: RunningManager): Promise<void> {
    await parts.plane.leftChanges?.rounds.stop();
    await app.close();
    await parts.lease.stop();
  }

  async stop(manager: RunningManager): Promise<void> {
    const { app, parts } = manager;
    this.running.splice(this.running.indexOf(manager), 1);
    await parts.plane.leftChanges?.rounds.stop();
    await parts.executor.drain(0);
    await app.close();
    await parts.lease.stop();
    await parts.redis.close();
    await parts.outputs.close();
  }
}

/** Opens a fixture before the tests of the file and closes it after them. */
export function useManagers(receive: (fixture: ManagerFixture) => void): void {
  let fixture: ManagerFixture;

  beforeAll(async () => {
    fixture = await ManagerFixture.open();
    receive(fixture);
  }, START_TIMEOUT_MS);

  afterAll(() => fixture.close(), START_TIMEOUT_MS);
}
