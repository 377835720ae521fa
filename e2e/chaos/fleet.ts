import { join } from 'node:path';
import { startProxy, type TestProxy, type TestService } from '@caribou/testing';
import type { AppName, Stack } from '../support/stack.js';
import type { FleetSize, ServerName } from './plan.js';

const MAX_STARTS = 20;

type Environment = Readonly<Record<string, string>>;

/** One member of a service across restarts; it reaches NATS and Redis through its own proxies. */
export class Member {
  /** Whether a fault is active; a member has one at a time. */
  busy = false;
  private process: TestService | undefined;
  private isMeantToRun = false;

  private constructor(
    readonly app: AppName,
    readonly index: number,
    readonly links: Readonly<Record<ServerName, TestProxy>>,
    private readonly launch: () => Promise<TestService>,
  ) {}

  static async start(app: AppName, index: number, stack: Stack, env: Environment): Promise<Member> {
    const [nats, redis] = await Promise.all([
      startProxy({ target: stack.nats.port }),
      startProxy({ target: stack.redis.port }),
    ]);
    const urls = {
      NATS_URL: stack.urlOf(app, 'nats', nats.port),
      REDIS_URL: stack.urlOf(app, 'redis', redis.port),
    };
    const member = new Member(app, index, { nats, redis }, () => stack.start(app, { ...env, ...urls }));
    await member.start();
    return member;
  }

  get service(): TestService | undefined {
    return this.process;
  }

  /** Whether it ended without being stopped. */
  get hasCrashed(): boolean {
    return this.isMeantToRun && this.process?.running === false;
  }

  /** Starts a process, again if it ends because a server is unavailable, as a supervisor does. */
  async start(): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        this.process = await this.launch();
        this.isMeantToRun = true;
        return;
      } catch (cause) {
        if (attempt === MAX_STARTS) throw new Error(`${this.app} does not start`, { cause });
      }
    }
  }

  async kill(): Promise<void> {
    this.isMeantToRun = false;
    await this.process?.kill9();
  }

  async terminate(timeoutMs: number): Promise<void> {
    this.isMeantToRun = false;
    await this.process?.terminate(timeoutMs);
  }

  async stopLinks(): Promise<void> {
    await Promise.all([this.links.nats.stop(), this.links.redis.stop()]);
  }
}

/** All processes of all services, spread over the machines: each of these has directories of its own. */
export async function startFleet(stack: Stack, size: FleetSize, machines: number): Promise<readonly Member[]> {
  const apps = Object.entries(size) as [AppName, number][];
  const envOf = (index: number): Environment => (machines === 1 ? {} : environmentOf(stack, index % machines));
  return await Promise.all(
    apps.flatMap(([app, count]) =>
      Array.from({ length: count }, (_, index) => Member.start(app, index, stack, envOf(index))),
    ),
  );
}

const environmentOf = ({ homeDir }: Stack, machine: number): Environment => ({
  CARIBOU_HOME: join(homeDir, `machine-${machine}`),
  CARIBOU_RUN_DIR: join(homeDir, `machine-${machine}-run`),
});
