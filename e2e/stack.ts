import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNats, startRedis, startService, type TestServer, type TestService, waitFor } from '@caribou/testing';
import { type DemoModel, startDemoModel } from '../tools/demo-model/server.js';
import { ApiClient } from './client.js';

export interface StackOptions {
  readonly gateways?: number;
  readonly runners?: number;
  readonly managers?: number;
  /** Default 0. */
  readonly pools?: number;
  /** Gives every tool call of the model this id. */
  readonly constantCallId?: string;
  /** More environment of every service. */
  readonly env?: Readonly<Record<string, string>>;
  /** Clocks as in production instead of a tenth of them. */
  readonly productionClocks?: boolean;
  /** More top-level lines of config.yaml. */
  readonly config?: string;
  readonly sandboxDriver?: 'bwrap' | 'docker';
  /** More lines of the section `sandbox` of config.yaml, without their indent. */
  readonly sandbox?: readonly string[];
}

/** The whole system as real processes: NATS, Redis, the scripted model, and the services, on free loopback ports. */
export interface Stack {
  readonly redis: TestServer;
  readonly nats: TestServer;
  readonly model: DemoModel;
  readonly gateways: TestService[];
  readonly runners: TestService[];
  readonly managers: TestService[];
  readonly pools: TestService[];
  readonly homeDir: string;
  /** Another process of a service; `env` goes over the stack's own. */
  start(app: AppName, env?: Readonly<Record<string, string>>): Promise<TestService>;
  /** A client of the n-th gateway. */
  client(gateway?: number): ApiClient;
  /** Output of all services, for the message of a failed test. */
  output(): string;
  stop(): Promise<void>;
}

export type AppName = 'gateway' | 'agent-runner' | 'sandbox-manager' | 'memory-worker' | 'subagent-pool';

/** A tenth of the production clocks, so that takeovers take seconds. */
const FAST_CLOCKS = `clocks:
  lease_ms: 1500
  renew_ms: 300
  ack_wait_ms: 1500
  busy_nak_ms: 100
  sweep_ms: 500
  manager_lease_ms: 1500
  manager_renew_ms: 300
  manager_check_ms: 200
  heartbeat_ms: 500
  drain_ms: 8000
`;

export const clientOf = (gateway: TestService): ApiClient =>
  new ApiClient(`http://127.0.0.1:${gateway.healthPort}/api/langgraph`);

function configOf({
  productionClocks = false,
  sandboxDriver = 'bwrap',
  sandbox = [],
  config = '',
}: StackOptions): string {
  const lines = [`driver: ${sandboxDriver}`, ...sandbox].map((line) => `  ${line}\n`);
  return `${productionClocks ? '' : FAST_CLOCKS}sandbox:\n${lines.join('')}${config}`;
}

/** Starts the system and waits until a turn would run, or, of an incomplete one, until its parts are ready. */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const homeDir = await mkdtemp(join(tmpdir(), 'caribou-home-'));
  const model = await startDemoModel(
    options.constantCallId === undefined ? {} : { constantCallId: options.constantCallId },
  );
  const [redis, nats] = await Promise.all([startRedis(), startNats()]);
  const configPath = join(homeDir, 'config.yaml');
  await writeFile(configPath, configOf(options));
  const env = {
    NATS_URL: nats.url,
    REDIS_URL: redis.url,
    CARIBOU_HOME: join(homeDir, 'data'),
    CARIBOU_CONFIG: configPath,
    OPENAI_BASE_URL: model.baseUrl,
    OPENAI_API_KEY: 'scripted',
    OPENAI_MODEL: 'caribou-demo',
    LOG_LEVEL: 'info',
    HOST: '127.0.0.1',
    PORT: '0',
    ...options.env,
  };
  const all: TestService[] = [];
  const start = async (app: AppName, more: Readonly<Record<string, string>> = {}): Promise<TestService> => {
    const service = await startService({
      entry: `dist/services/${app}.js`,
      env: { ...env, ...more },
      readyTimeoutMs: 60_000,
    });
    all.push(service);
    return service;
  };
  const several = (app: AppName, count: number): Promise<TestService[]> =>
    Promise.all(Array.from({ length: count }, () => start(app)));
  const [gateways, runners, managers, pools] = await Promise.all([
    several('gateway', options.gateways ?? 1),
    several('agent-runner', options.runners ?? 1),
    several('sandbox-manager', options.managers ?? 1),
    several('subagent-pool', options.pools ?? 0),
  ]);
  const complete = runners.length > 0 && managers.length > 0;
  const awaited = complete ? all : [...runners, ...managers, ...pools];
  await waitFor(async () => (await Promise.all(awaited.map((service) => service.ready()))).every(({ ok }) => ok), {
    what: 'all services to be ready',
    timeoutMs: 30_000,
  });
  return {
    redis,
    nats,
    model,
    gateways,
    runners,
    managers,
    pools,
    homeDir,
    start,
    client: (index = 0) => clientOf(nth(gateways, index)),
    output: () => all.map((service) => service.output()).join('\n----\n'),
    stop: async () => {
      await Promise.all(all.map((service) => service.kill9()));
      await Promise.all([redis.stop(), nats.stop(), model.close()]);
      await rm(homeDir, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** The element at an index that must be there. */
export function nth<T>(list: readonly T[], index: number): T {
  const element = list[index];
  if (element === undefined) throw new Error(`no element ${index} in a list of ${list.length}`);
  return element;
}

/** A word that no other script has, for scripts whose failures are counted by their text. */
export const nonce = (): string => `nonce ${Math.random().toString(36).slice(2)}`;
