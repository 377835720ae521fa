import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '@caribou/config';
import { type Logger, silentLogger } from '@caribou/core';
import { createRedis, type RedisConnection } from '@caribou/state';
import { startNats, startRedis, type TestServer } from '@caribou/testing';
import { type OpenGateway, openGateway } from '../open-gateway.js';

export interface TestGatewayOptions {
  /** Content of config.yaml. */
  readonly config?: string;
  /** Environment variables besides those of the servers, the data home and a model; undefined removes one. */
  readonly env?: NodeJS.ProcessEnv;
  /**
   * Whether new runs are refused while the event loop is late, as config.yaml says; default false, since the gateway is in the process of the
   * test, whose event loop is late on a busy machine.
   */
  readonly refusesWhenLate?: boolean;
  /** By default one that collects errors in `faults`. */
  readonly logger?: Logger;
  readonly replaced?: Parameters<typeof openGateway>[2];
}

/** For a gateway whose config.yaml names the models. */
export const NO_ENV_MODEL = { OPENAI_API_KEY: undefined, OPENAI_MODEL: undefined };

const HOOK_MS = 60_000;

/** A nats-server, a redis-server and the gateways that a test file opens on them. */
export class GatewayFixture {
  /** An empty folder, from which gateways read their configuration. */
  readonly folder = mkdtempSync(join(tmpdir(), 'caribou-gateway-test-'));
  /** Data home of the gateways. */
  readonly home = join(this.folder, 'data');
  /** Errors that the gateways have logged. */
  readonly faults: string[] = [];
  private servers: { readonly nats: TestServer; readonly redis: TestServer } | undefined;
  /** Closed in reverse order, before the servers stop. */
  private readonly closes: (() => Promise<unknown>)[] = [];

  get nats(): TestServer {
    return this.started.nats;
  }

  get redis(): TestServer {
    return this.started.redis;
  }

  async start(redisOptions: Parameters<typeof startRedis>[0]): Promise<void> {
    const [nats, redis] = await Promise.all([startNats(), startRedis(redisOptions)]);
    this.servers = { nats, redis };
  }

  /** Opens a gateway that does not listen; requests are injected into its `app`. */
  async open({ config, env = {}, logger = this.collector, ...options }: TestGatewayOptions = {}): Promise<OpenGateway> {
    const variables = {
      NATS_URL: this.nats.url,
      REDIS_URL: this.redis.url,
      OPENAI_API_KEY: 'unused',
      OPENAI_MODEL: 'm1',
      CARIBOU_HOME: this.home,
      ...(config === undefined ? {} : { CARIBOU_CONFIG: this.writeConfig(config) }),
      ...env,
    };
    const loaded = loadConfig(variables, this.folder);
    const quotas = options.refusesWhenLate === true ? loaded.quotas : { ...loaded.quotas, maxEventLoopLagMs: 0 };
    const gateway = await openGateway({ ...loaded, quotas }, logger, options.replaced);
    this.closeAtEnd(async () => {
      for (const step of gateway.stop) await step.run();
    });
    return gateway;
  }

  connectRedis(): RedisConnection {
    const redis = createRedis({ url: this.redis.url, storesFiles: true });
    this.closeAtEnd(() => redis.close());
    return redis;
  }

  closeAtEnd(close: () => Promise<unknown>): void {
    this.closes.push(close);
  }

  async stop(): Promise<void> {
    for (const close of this.closes.reverse()) await close();
    await Promise.all([this.servers?.nats.stop(), this.servers?.redis.stop()]);
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }

  private get started() {
    if (this.servers === undefined) throw new Error('the servers of the test are started by a beforeAll hook');
    return this.servers;
  }

  private get collector(): Logger {
    const error = (fields: object, message: string) => this.faults.push(`${message} ${JSON.stringify(fields)}`);
    return { ...silentLogger, error };
  }

  private writeConfig(text: string): string {
    const file = join(this.folder, `${randomUUID()}.yaml`);
    writeFileSync(file, text);
    return file;
  }
}

/** Servers for the tests of a file, started before them and stopped after them; call it outside of hooks and tests. */
export function useGateways(redisOptions?: Parameters<typeof startRedis>[0]): GatewayFixture {
  const fixture = new GatewayFixture();
  beforeAll(() => fixture.start(redisOptions), HOOK_MS);
  afterAll(() => fixture.stop(), HOOK_MS);
  return fixture;
}
