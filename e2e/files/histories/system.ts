import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '@caribou/config';
import { type FileGenerations, silentLogger } from '@caribou/core';
import { collectGarbage, objectTreeStore } from '@caribou/files';
import { openObjectStore, type OpenedStore } from '@caribou/objects';
import {
  createRedis,
  type RedisConnection,
  redisFileGenerations,
  redisRunStore,
  redisSandboxRegistry,
  redisSharedDocuments,
  type RunStore,
} from '@caribou/state';
import { startNats, startRedis, type TestServer } from '@caribou/testing';
import { type OpenGateway, openGateway } from '../../../apps/gateway/src/open-gateway.js';
import { Machine } from './machine.js';

const HOUR_MS = 3_600_000;
/** Nothing renews the leases of the runs, and one on a busy machine may take longer than a lease of the product. */
const LEASE_MS = 600_000;

interface SystemParts {
  readonly gateway: OpenGateway;
  readonly redis: RedisConnection;
  readonly generations: FileGenerations;
  readonly machines: readonly [Machine, Machine, Machine];
  readonly store: OpenedStore;
  readonly servers: readonly TestServer[];
  readonly folder: string;
}

export interface Answer<Body> {
  readonly status: number;
  readonly body: Body;
}

/**
 * A gateway and the file plane of two machines in this process, on a real Redis, a real NATS and an object store in a folder. Runs are
 * executed by the test, with the scripts that runners use.
 */
export class HistorySystem {
  /** How far the clock of garbage collection is ahead, in milliseconds. */
  private aheadMs = 0;

  readonly runner: RunStore;
  readonly generations: FileGenerations;
  readonly machines: readonly [Machine, Machine];
  /** A machine without a manager. */
  readonly reader: Machine;

  private constructor(private readonly parts: SystemParts) {
    this.runner = redisRunStore(parts.redis, { leaseMs: LEASE_MS });
    this.generations = parts.generations;
    [this.reader, ...this.machines] = parts.machines;
  }

  static async start(): Promise<HistorySystem> {
    const folder = mkdtempSync(join(tmpdir(), 'caribou-histories-'));
    const objects = join(folder, 'objects');
    mkdirSync(objects);
    const [nats, server] = await Promise.all([startNats(), startRedis({ appendonly: false })]);
    const env = { NATS_URL: nats.url, REDIS_URL: server.url, OPENAI_API_KEY: 'unused', OPENAI_MODEL: 'm1' };
    const config = loadConfig({ ...env, CARIBOU_HOME: join(folder, 'gateway') }, folder);
    const place = { path: objects, isDurable: false, timeoutMs: 30_000 };
    const files = {
      store: { kind: 'folder', folder: place },
      maxDirectBytes: 1,
      maxWaitMs: 1,
      machineWaitMs: 1,
      maxCopies: 1,
    } as const;
    // The work of the machines in this process delays the gateway's event loop; that must not look like an overload.
    const quotas = { ...config.quotas, requestsPerSecond: 0, maxThreadsPerUser: 0, maxEventLoopLagMs: 0 };
    const gateway = await openGateway({ ...config, files, quotas }, silentLogger);
    const redis = createRedis({ url: server.url, storesFiles: true, commandTimeoutMs: 30_000 });
    const generations = redisFileGenerations(redis);
    const parts = { folder, objects, generations, registry: redisSandboxRegistry(redis) };
    const machines = [await Machine.start(parts), await Machine.start(parts), await Machine.start(parts)] as const;
    const store = openObjectStore(files.store, silentLogger);
    return new HistorySystem({ gateway, redis, generations, machines, store, servers: [nats, server], folder });
  }

  async stop(): Promise<void> {
    const { gateway, redis, servers, folder } = this.parts;
    for (const step of gateway.stop) await step.run();
    await redis.close();
    await Promise.all(servers.map((server) => server.stop()));
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }

  /** A request to the gateway below /api/threads. */
  async ask<Body>(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    { payload, headers = {} }: { readonly payload?: string | object; readonly headers?: object } = {},
  ): Promise<Answer<Body>> {
    const url = `/api/threads${path}`;
    const sent = payload === undefined ? {} : { payload };
    const reply = await this.parts.gateway.app.inject({ method, url, headers: { ...headers }, ...sent });
    const isJson = String(reply.headers['content-type']).startsWith('application/json');
    return { status: reply.statusCode, body: (isJson ? reply.json() : reply.body) as Body };
  }

  /** Removes all objects that nothing needs now, as two collections an hour apart, a day later, do. */
  async collect(): Promise<void> {
    this.aheadMs += 25 * HOUR_MS;
    await this.collectOnce();
    this.aheadMs += 2 * HOUR_MS;
    await this.collectOnce();
  }

  private async collectOnce(): Promise<void> {
    const { store, redis, generations } = this.parts;
    const { isComplete } = await collectGarbage({
      store,
      trees: objectTreeStore(store),
      generations,
      documents: redisSharedDocuments(redis),
      moreRoots: () => Promise.resolve([]),
      nowMs: () => Date.now() + this.aheadMs,
      logger: silentLogger,
      signal: new AbortController().signal,
      maxMs: HOUR_MS,
    });
    if (!isComplete) throw new Error('the collection was out of time');
  }

  /** Keys of all objects but those that garbage collection makes for itself. */
  objects(): string[] {
    const root = join(this.parts.folder, 'objects');
    return readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
      .filter((key) => !key.startsWith('collector/'));
  }
}
