import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type SandboxDriverKind, omitUndefined } from '@caribou/contracts';
import type { Pids } from './cpu-time.js';
import { openProcessGroup, type ProcessGroup } from './process-group.js';
import { type ProcessPlan, readyMessage, type Retained, type RunningProcess } from './processes.js';
import { dist, type RestartableServer, startModel, startNats, startRedis } from './servers.js';

const SERVICES = ['gateway', 'agent-runner', 'sandbox-manager', 'memory-worker', 'subagent-pool'] as const;
export type Service = (typeof SERVICES)[number];

export interface FleetOptions {
  /** Folder for CPU profiles of the gateway and the agent-runner. */
  readonly profileDir?: string;
  readonly runnerSlots?: number;
  /** Subagent-pools; default 1. */
  readonly pools?: number;
  /** Lines of config.yaml. */
  readonly config?: string;
  /** Additional variables of the services. */
  readonly env?: Readonly<Record<string, string>>;
  /** No quota of requests and threads, as one user sends the load of many; default true. */
  readonly unlimited?: boolean;
  /** Default: bwrap. */
  readonly sandboxDriver?: SandboxDriverKind;
  /** More lines of the section `sandbox` of config.yaml, without their indent. */
  readonly sandbox?: readonly string[];
  /** The folder `dist` of the product whose services run; default: this one. */
  readonly product?: string;
}

/** Delays memory extraction while other things are measured; the part on memory starts it itself. */
const LATE_MEMORY = 'memory: {debounce_seconds: 300}\n';

/** The whole system as separate processes, on free loopback ports and with production times, and the floor. */
export interface Fleet {
  /** The base URL of thread routes. */
  readonly apiUrl: string;
  readonly floorUrl: string;
  /** The base URL of the scripted model, with `/v1`. */
  readonly modelUrl: string;
  readonly redisUrl: string;
  readonly natsUrl: string;
  readonly natsMonitorUrl: string;
  readonly homeDir: string;
  readonly services: Pids;
  /** Redis and NATS. */
  readonly servers: Pids;
  readonly floor: Pids;
  readonly redis: RestartableServer;
  readonly nats: RestartableServer;
  /** The first process of a service. */
  process(service: Service): RunningProcess;
  /** Starts another process of a service. */
  start(service: Service): Promise<RunningProcess>;
  /** What each service holds after a collection of garbage. */
  retained(): Promise<Readonly<Record<string, Retained>>>;
  stop(): Promise<void>;
}

/** Starts everything and waits until a turn can run. */
export async function startFleet(options: FleetOptions = {}): Promise<Fleet> {
  const group = await openProcessGroup();
  try {
    return { ...(await startAll(group, options)), stop: group.stop };
  } catch (error) {
    await group.stop();
    throw error;
  }
}

/** Disables quotas for loads that one user sends instead of many. */
const UNLIMITED =
  'quotas:\n  requests_per_second: 1000000\n  request_burst: 1000000\n  max_threads_per_user: 1000000\n';

async function startAll(group: ProcessGroup, options: FleetOptions): Promise<Omit<Fleet, 'stop'>> {
  const [redis, nats, model] = await Promise.all([startRedis(group), startNats(group), startModel(group)]);
  const modelUrl = `http://127.0.0.1:${model.port}/v1`;
  const floor = await group.start({
    name: 'floor',
    command: [process.execPath, join(dist, 'tools/bench/floor-server.js'), modelUrl],
    untilReady: readyMessage,
  });
  const homeDir = join(group.folder, 'data');
  const configPath = join(group.folder, 'config.yaml');
  const { config = '', sandbox = [] } = options;
  const sandboxLines = [`driver: ${options.sandboxDriver ?? 'bwrap'}`, ...sandbox].map((line) => `  ${line}\n`);
  const slots = options.runnerSlots === undefined ? '' : `runner:\n  slots: ${options.runnerSlots}\n`;
  await writeFile(
    configPath,
    `sandbox:\n${sandboxLines.join('')}${slots}${options.unlimited === false ? '' : UNLIMITED}${/^memory:/m.test(config) ? '' : LATE_MEMORY}${config}`,
  );
  const redisUrl = `redis://127.0.0.1:${redis.port}`;
  const natsUrl = `nats://127.0.0.1:${nats.port}`;
  const env = {
    NATS_URL: natsUrl,
    REDIS_URL: redisUrl,
    CARIBOU_HOME: homeDir,
    CARIBOU_RUN_DIR: join(homeDir, 'run'),
    CARIBOU_CONFIG: configPath,
    OPENAI_BASE_URL: modelUrl,
    OPENAI_API_KEY: 'scripted',
    OPENAI_MODEL: 'caribou-demo',
    HOST: '127.0.0.1',
    PORT: '0',
    ...omitUndefined({ DOCKER_HOST: process.env.DOCKER_HOST }),
    ...options.env,
  };
  const plans = SERVICES.map((name) => servicePlan(name, env, options));
  for (let pool = 2; pool <= (options.pools ?? 1); pool += 1)
    plans.push({ ...servicePlan('subagent-pool', env, options), name: `subagent-pool-${pool}` });
  const services = await Promise.all(plans.map((plan) => group.start(plan)));
  await Promise.all(services.map(({ port }) => untilServing(port)));
  return {
    apiUrl: `http://127.0.0.1:${services[0]?.port}/api/langgraph`,
    floorUrl: `http://127.0.0.1:${floor.port}/`,
    modelUrl,
    redisUrl,
    natsUrl,
    natsMonitorUrl: nats.monitorUrl,
    homeDir,
    services: pidsOf(services),
    servers: pidsOf([redis, nats]),
    redis,
    nats,
    floor: pidsOf([floor]),
    process: (service) => {
      const found = services.find(({ name }) => name === service);
      if (found === undefined) throw new Error(`no ${service} was started`);
      return found;
    },
    start: async (service) => {
      const started = await group.start(servicePlan(service, env, { ...options, profileDir: undefined }));
      await untilServing(started.port);
      return started;
    },
    retained: async () => {
      const entries = services.map(async ({ name, retained }) => [name, await retained()] as const);
      return Object.fromEntries(await Promise.all(entries));
    },
  };
}

const pidsOf = (processes: readonly RunningProcess[]): Pids =>
  Object.fromEntries(processes.map(({ name, pid }) => [name, pid]));

function servicePlan(
  name: Service,
  env: Readonly<Record<string, string>>,
  { profileDir, product = dist }: { readonly profileDir?: string | undefined; readonly product?: string },
): Omit<ProcessPlan, 'logFile'> {
  const profiled = profileDir !== undefined && (name === 'gateway' || name === 'agent-runner');
  const flags = profiled
    ? ['--cpu-prof', `--cpu-prof-dir=${resolve(profileDir)}`, `--cpu-prof-name=${name}.cpuprofile`]
    : [];
  const command: ProcessPlan['command'] = [
    process.execPath,
    // The same options as in the launcher.
    ...['--enable-source-maps', '--max-semi-space-size=64'],
    ...['--expose-gc', '--require', join(dist, 'tools/bench/heap-probe.js')],
    ...flags,
    join(product, `services/${name}.js`),
  ];
  return { name, command, env, untilReady: readyMessage };
}

async function untilServing(port: number): Promise<void> {
  const deadlineMs = performance.now() + 30_000;
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${port}/ready`, { signal: AbortSignal.timeout(5_000) });
    const body = await response.text();
    if (response.ok) return;
    if (performance.now() > deadlineMs) throw new Error(`a service did not become ready: ${body}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}
