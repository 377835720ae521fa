import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SandboxDriverKind, ServiceName } from '@caribou/contracts';
import {
  type ServiceNetwork,
  startNats,
  startRedis,
  startService,
  type TestServer,
  type TestService,
  waitFor,
} from '@caribou/testing';
import { natsConfig } from '../../tools/access/nats-config.js';
import { addressOf, ADMIN, HEALTH, newPasswords, type UserName } from '../../tools/access/passwords.js';
import { redisConfig } from '../../tools/access/redis-config.js';
import { type DemoModel, type DemoModelOptions, startDemoModel } from '../../tools/demo-model/server.js';
import { ApiClient } from './client.js';

export interface StackOptions {
  /** When Redis syncs its file; default every second, as the product's own Redis. */
  readonly fsync?: 'everysec' | 'always';
  readonly gateways?: number;
  readonly runners?: number;
  readonly managers?: number;
  /** Default 0. */
  readonly pools?: number;
  /** How the scripted model answers, and who observes it. */
  readonly model?: Pick<DemoModelOptions, 'constantCallId' | 'cachedShare' | 'onAnswered'>;
  /** Additional environment of every service. */
  readonly env?: Readonly<Record<string, string>>;
  /** Clocks as in production instead of a tenth of them. */
  readonly productionClocks?: boolean;
  /** More lines of the section `clocks`, without their indent; not with `productionClocks`. */
  readonly clocks?: readonly string[];
  /** More top-level lines of config.yaml. */
  readonly config?: string;
  readonly sandboxDriver?: SandboxDriverKind;
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
  /** Another process of a service; `env` overrides the stack's own, `network` is the one that it runs in. */
  start(app: AppName, env?: Readonly<Record<string, string>>, network?: ServiceNetwork): Promise<TestService>;
  /** The address of a server for the user of a service; with a port, through a proxy there. */
  urlOf(app: AppName, scheme: 'nats' | 'redis', port?: number): string;
  /** A client of the n-th gateway. */
  client(gateway?: number): ApiClient;
  /** Output of all services, for the message of a failed test. */
  output(): string;
  stop(): Promise<void>;
}

export type AppName = ServiceName;

/** A tenth of the production clocks, so that takeovers take seconds; event logs outlive hours of chaos, for its checks. */
const FAST_CLOCKS = `clocks:
  lease_ms: 1500
  renew_ms: 300
  process_lease_ms: 1300
  process_renew_ms: 200
  ack_wait_ms: 1500
  busy_nak_ms: 100
  sweep_ms: 500
  manager_lease_ms: 2500
  manager_renew_ms: 300
  manager_check_ms: 200
  heartbeat_ms: 500
  events_ttl_ms: 28800000
  drain_ms: 8000
`;

/** A test that pauses gateways, or a busy machine, makes their event loops late: runs are refused for it only where a test is about that. */
const ANY_LAG = 'quotas: {max_event_loop_lag_ms: 60000}\n';

/** Where a gateway answers. */
export type GatewayAddress = Pick<TestService, 'host' | 'healthPort'>;

export const clientOf = (gateway: GatewayAddress): ApiClient =>
  new ApiClient(`http://${gateway.host}:${gateway.healthPort}/api/langgraph`);

function configOf({
  productionClocks = false,
  sandboxDriver = 'bwrap',
  sandbox = [],
  clocks = [],
  config = '',
}: StackOptions): string {
  const indented = (lines: readonly string[]): string => lines.map((line) => `  ${line}\n`).join('');
  const fast = productionClocks ? '' : FAST_CLOCKS + indented(clocks);
  const quotas = productionClocks || /^quotas:/m.test(config) ? '' : ANY_LAG;
  return `${fast}sandbox:\n${indented([`driver: ${sandboxDriver}`, ...sandbox])}${quotas}${config}`;
}

/** What a service logs when NATS or Redis refuses an operation; as each has the rights it needs, none does. */
const REFUSED = /NOPERM|executing the script can't|permissions? violation|does not permit|subscription refused/i;

/** A log line that lost a field, as that is not in the list of `LogFields`. */
const DROPPED = /"dropped":\[/;

/** NATS and Redis with a user per service, as the product runs them. Their own addresses are those of the administrator. */
async function startServers({ fsync = 'everysec' }: Pick<StackOptions, 'fsync'>) {
  const passwords = newPasswords();
  const [redis, nats] = await Promise.all([
    startRedis({
      config: (server) => redisConfig({ ...server, bind: '127.0.0.1', fsync }, passwords),
      login: { user: HEALTH, password: passwords[HEALTH] },
    }),
    startNats({ config: (server) => natsConfig(server, passwords) }),
  ]);
  const url = (scheme: 'nats' | 'redis', { port }: Pick<TestServer, 'port'>, user: UserName): string =>
    addressOf(scheme, `127.0.0.1:${port}`, { user, password: passwords[user] });
  return {
    redis: { ...redis, url: url('redis', redis, ADMIN) },
    nats: { ...nats, url: url('nats', nats, ADMIN) },
    urlOf: (app: AppName, scheme: 'nats' | 'redis', port?: number) =>
      url(scheme, { port: port ?? (scheme === 'nats' ? nats : redis).port }, app),
  };
}

const modelOf = ({ baseUrl }: DemoModel) => ({
  OPENAI_BASE_URL: baseUrl,
  OPENAI_API_KEY: 'scripted',
  OPENAI_MODEL: 'caribou-demo',
});

/** Starts the system and waits until a turn can run, or, for an incomplete system, until its parts are ready. */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const homeDir = await mkdtemp(join(tmpdir(), 'caribou-home-'));
  const model = await startDemoModel(options.model);
  const { redis, nats, urlOf } = await startServers(options);
  const login = (app: AppName) => ({ NATS_URL: urlOf(app, 'nats'), REDIS_URL: urlOf(app, 'redis') });
  const configPath = join(homeDir, 'config.yaml');
  await writeFile(configPath, configOf(options));
  const env = {
    CARIBOU_HOME: join(homeDir, 'data'),
    CARIBOU_RUN_DIR: join(homeDir, 'run'),
    CARIBOU_CONFIG: configPath,
    LOG_LEVEL: 'info',
    HOST: '127.0.0.1',
    PORT: '0',
    ...options.env,
  };
  const all: TestService[] = [];
  const start: Stack['start'] = async (app, more = {}, network) => {
    const service = await startService({
      entry: `dist/services/${app}.js`,
      env: { ...env, ...login(app), ...(app === 'sandbox-manager' ? {} : modelOf(model)), ...more },
      readyTimeoutMs: 60_000,
      ...(network === undefined ? {} : { network }),
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
    urlOf,
    client: (index = 0) => clientOf(nth(gateways, index)),
    output: () => all.map((service) => service.output()).join('\n----\n'),
    stop: async () => {
      await Promise.all(all.map((service) => service.kill9()));
      const output = all.map((service) => service.output()).join('\n');
      await Promise.all([redis.stop(), nats.stop(), model.close()]);
      await rm(homeDir, { recursive: true, force: true, maxRetries: 3 });
      expect(output.split('\n').filter((line) => REFUSED.test(line) || DROPPED.test(line))).toEqual([]);
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
