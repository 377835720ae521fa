import { startProxy, type TestProxy, type TestService } from '@caribou/testing';
import type { AppName, Stack } from '../support/stack.js';
import type { FleetSize, ServerName } from './plan.js';

const MAX_STARTS = 20;

/** One member of a service across restarts; it reaches NATS and Redis through its own proxies. */
export class Member {
  /** Whether a fault is active; a member has one at a time. */
  busy = false;
  private process: TestService | undefined;
  private isMeantToRun = false;

  private constructor(
    readonly app: AppName,
    readonly index: number,
    private readonly stack: Stack,
    readonly links: Readonly<Record<ServerName, TestProxy>>,
  ) {}

  static async start(app: AppName, index: number, stack: Stack): Promise<Member> {
    const [nats, redis] = await Promise.all([
      startProxy({ target: stack.nats.port }),
      startProxy({ target: stack.redis.port }),
    ]);
    const member = new Member(app, index, stack, { nats, redis });
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
        this.process = await this.stack.start(this.app, {
          NATS_URL: this.stack.urlOf(this.app, 'nats', this.links.nats.port),
          REDIS_URL: this.stack.urlOf(this.app, 'redis', this.links.redis.port),
        });
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

/** All processes of all services. */
export async function startFleet(stack: Stack, size: FleetSize): Promise<readonly Member[]> {
  const apps = Object.entries(size) as [AppName, number][];
  return await Promise.all(
    apps.flatMap(([app, count]) => Array.from({ length: count }, (_, index) => Member.start(app, index, stack))),
  );
}
