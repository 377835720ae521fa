import { join } from 'node:path';
import { type S3TestServer, S3_BUCKET, startProxy, type TestProxy, type TestService } from '@caribou/testing';
import type { ApiClient } from './client.js';
import { type MachineNetwork, openNetworks } from './networks.js';
import { type AppName, clientOf, type Stack } from './stack.js';

/** What a machine has of the others: a proxy each for NATS, Redis, the object store and the model. */
type Servers = Readonly<Record<'nats' | 'redis' | 's3' | 'model', TestProxy>>;

/** A machine with a home and a run directory of its own and, if this process can make it, a network of its own. */
export class Machine {
  readonly home: string;
  private readonly services = new Map<AppName, TestService>();

  constructor(
    private readonly stack: Stack,
    readonly name: string,
    readonly servers: Servers,
    readonly network: MachineNetwork | undefined,
  ) {
    this.home = join(stack.homeDir, name);
  }

  /** Starts a service, in place of one that was killed. */
  async start(app: AppName): Promise<TestService> {
    const { servers, network } = this;
    const at = (url: string, { port }: TestProxy): string => {
      const there = new URL(url);
      there.host = `${network?.hostAddress ?? '127.0.0.1'}:${port}`;
      return there.href;
    };
    const env = {
      CARIBOU_HOME: this.home,
      CARIBOU_RUN_DIR: `${this.home}-run`,
      NATS_URL: at(this.stack.urlOf(app, 'nats'), servers.nats),
      REDIS_URL: at(this.stack.urlOf(app, 'redis'), servers.redis),
      S3_ENDPOINT: at('http://localhost/', servers.s3),
      ...(app === 'sandbox-manager' ? {} : { OPENAI_BASE_URL: at(this.stack.model.baseUrl, servers.model) }),
      ...(network === undefined ? {} : { HOST: network.address, CARIBOU_ALLOW_UNAUTHENTICATED: '1' }),
    };
    const service = await this.stack.start(app, env, network);
    this.services.set(app, service);
    return service;
  }

  service(app: AppName): TestService {
    const service = this.services.get(app);
    if (service === undefined) throw new Error(`${this.name} has no ${app}`);
    return service;
  }

  /** The client of its gateway. */
  get client(): ApiClient {
    return clientOf(this.service('gateway'));
  }

  /** The address of the gateway's other API. */
  get api(): string {
    return this.client.base.replace('/langgraph', '');
  }
}

export interface Machines {
  readonly all: readonly Machine[];
  /** Why the machines share the network of the test; undefined when each has its own. */
  readonly sharedBecause: string | undefined;
  close(): Promise<void>;
}

/** The section `files` for the services of machines. */
export const machineFiles = ({ access }: S3TestServer): string =>
  `files: { store: { s3: { endpoint: $S3_ENDPOINT, bucket: ${S3_BUCKET}, access_key_id: ${access.accessKeyId}, secret_access_key: ${access.secretAccessKey} } } }\n`;

/** Machines that reach each other through NATS, Redis and the object store only. */
export async function openMachines(stack: Stack, s3: S3TestServer, names: readonly string[]): Promise<Machines> {
  const networks = await openNetworks(names.length);
  const own = typeof networks === 'string' ? undefined : networks;
  const ports = { nats: stack.nats.port, redis: stack.redis.port, s3: s3.server.port, model: stack.model.port };
  const all: Machine[] = [];
  for (const [index, name] of names.entries()) {
    const network = own?.machines[index];
    const host = network?.hostAddress ?? '127.0.0.1';
    const open = (target: number): Promise<TestProxy> => startProxy({ target, host });
    const [nats, redis, store, model] = await Promise.all([
      open(ports.nats),
      open(ports.redis),
      open(ports.s3),
      open(ports.model),
    ]);
    all.push(new Machine(stack, name, { nats, redis, s3: store, model }, network));
  }
  return {
    all,
    sharedBecause: typeof networks === 'string' ? networks : undefined,
    close: async () => {
      await Promise.all(all.flatMap(({ servers }) => Object.values(servers).map((proxy) => proxy.stop())));
      await own?.close();
    },
  };
}
