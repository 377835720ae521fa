import type { PullOptions, Wake, WakePull, Wakes } from '@caribou/bus';
import { UnavailableError } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { createBusUnavailable, type SimBus } from './bus.js';
import type { Faults } from './faults.js';
import type { Network } from './network.js';
import type { Scheduler, SimProcess } from './scheduler.js';

const ACK_WAIT_MS = 10_000;

interface StoredWake {
  readonly key: string;
  readonly thread: ThreadKey;
  deliveries: number;
  /** The time from which it may be delivered. */
  readyMs: number;
  /** Raised with each delivery, so that a stale one is detected. */
  delivery: number;
  /** Lies behind the position of the consumer, as after kill -9 of nats-server: never delivered. */
  stuck: boolean;
}

interface Puller {
  readonly process: SimProcess;
  readonly options: PullOptions;
  running: number;
  stopped: boolean;
}

type PublishedWake = Awaited<ReturnType<Wakes['publish']>>;

export interface WakeQueueParts {
  readonly scheduler: Scheduler;
  readonly faults: Faults;
  readonly network: Network;
  readonly bus: SimBus;
  /** Begins the names of its operations. */
  readonly name: string;
  /** Called when a handler of wakes fails: the product logs it and sends nothing. */
  readonly onDefect: (where: string, error: unknown) => void;
}

/** The stream of wakes: a work queue with one wake per thread and an ack deadline. */
export class WakeQueue {
  private readonly wakes = new Map<string, StoredWake>();
  private pullers: Puller[] = [];

  constructor(private readonly parts: WakeQueueParts) {}

  /** Wakes that wait or are with a runner. A stuck one blocks nothing before its thread has work again. */
  get waiting(): number {
    return [...this.wakes.values()].filter(({ stuck }) => !stuck).length;
  }

  /** Loses all wakes, as a lost stream does. */
  loseAll(): void {
    this.wakes.clear();
  }

  /** Leaves the wakes in the stream, but no consumer receives them. */
  strand(): void {
    for (const wake of this.wakes.values()) wake.stuck = true;
  }

  /** The wakes with the connection of one process. */
  of(process: SimProcess): Wakes {
    return {
      publish: async (thread) => {
        this.parts.bus.assertConnected(process);
        const execute = (): Promise<PublishedWake> => Promise.resolve(this.store(thread));
        return await this.parts.network.request({
          process,
          operation: `${this.parts.name}.publish`,
          kind: 'bus',
          execute,
          away: createBusUnavailable,
        });
      },
      replaceLost: async (thread) => {
        this.parts.bus.assertConnected(process);
        const execute = (): Promise<boolean> => Promise.resolve(this.replace(thread));
        return await this.parts.network.request({
          process,
          operation: `${this.parts.name}.replaceLost`,
          kind: 'bus',
          execute,
          away: createBusUnavailable,
        });
      },
      checkPublishing: async () => this.parts.bus.assertConnected(process),
      pull: (options) => this.pull(process, options),
      hasRunners: () => Promise.resolve(this.pullers.some((puller) => puller.process.alive)),
    };
  }

  private replace(thread: ThreadKey): boolean {
    const key = `${thread.userId}/${thread.threadId}`;
    if (this.wakes.get(key)?.stuck !== true) return false;
    this.wakes.delete(key);
    this.store(thread);
    return true;
  }

  private store(thread: ThreadKey): PublishedWake {
    const key = `${thread.userId}/${thread.threadId}`;
    if (this.wakes.has(key)) return 'waiting';
    this.wakes.set(key, { key, thread, deliveries: 0, readyMs: this.parts.scheduler.nowMs, delivery: 0, stuck: false });
    this.dispatch();
    return 'stored';
  }

  private pull(process: SimProcess, options: PullOptions): WakePull {
    const puller: Puller = { process, options, running: 0, stopped: false };
    this.pullers = [...this.pullers.filter((known) => known.process.alive), puller];
    this.dispatch();
    const idle = async (): Promise<void> => {
      while (puller.running > 0) await this.parts.scheduler.sleep(50, process, 'idle?');
    };
    const occupy = (work: () => Promise<void>): boolean => {
      if (puller.stopped || puller.running >= options.slots) return false;
      this.run(puller, work);
      return true;
    };
    const { bus } = this.parts;
    return {
      occupy,
      idle,
      stop: () => void (puller.stopped = true),
      get failingMs() {
        return bus.cutForMs(process);
      },
    };
  }

  private dispatch(): void {
    const { scheduler } = this.parts;
    for (const wake of this.wakes.values()) {
      if (wake.stuck || wake.readyMs > scheduler.nowMs) continue;
      const free = this.pullers.filter(
        ({ process, options, running, stopped }) =>
          process.alive && !stopped && running < options.slots && !this.parts.bus.isCut(process),
      );
      if (free.length === 0) return;
      this.deliver(wake, scheduler.random.pick(free));
    }
  }

  private deliver(wake: StoredWake, puller: Puller): void {
    const { scheduler } = this.parts;
    wake.delivery += 1;
    wake.deliveries += 1;
    const { delivery, deliveries } = wake;
    this.readyAfter(wake, ACK_WAIT_MS);
    if (this.parts.faults.fate('bus') === 'twice') this.readyAfter(wake, 5);
    puller.running += 1;
    scheduler.after(scheduler.random.between(0.1, 2), puller.process, 'wake', () => {
      puller.running -= 1;
      const arrived = this.wakeFor(puller.process, wake, { delivery, redelivered: deliveries > 1 });
      this.run(puller, () => puller.options.handle(arrived));
    });
  }

  /** Holds a slot during the work. */
  private run(puller: Puller, work: () => Promise<void>): void {
    puller.running += 1;
    this.reportSlots(puller);
    void work()
      .catch((error: unknown) => this.parts.onDefect('handling a wake failed', error))
      .finally(() => {
        puller.running -= 1;
        this.reportSlots(puller);
        this.parts.scheduler.after(0, puller.process, 'slot free', () => this.dispatch());
      });
  }

  private reportSlots({ options, running }: Puller): void {
    options.onSlots?.(options.slots - running);
  }

  private wakeFor(
    process: SimProcess,
    wake: StoredWake,
    { delivery, redelivered }: { readonly delivery: number; readonly redelivered: boolean },
  ): Wake {
    const isCurrent = (): boolean =>
      wake.delivery === delivery && this.wakes.get(wake.key) === wake && !this.parts.bus.isCut(process);
    return {
      ...wake.thread,
      redelivered,
      ack: async () => {
        const execute = (): Promise<boolean> => {
          if (isCurrent()) this.wakes.delete(wake.key);
          return Promise.resolve(true);
        };
        try {
          return await this.parts.network.request({
            process,
            operation: `${this.parts.name}.ack`,
            kind: 'bus',
            execute,
            away: createBusUnavailable,
          });
        } catch (error) {
          if (error instanceof UnavailableError) return false;
          throw error;
        }
      },
    };
  }

  private readyAfter(wake: StoredWake, delayMs: number): void {
    const { scheduler } = this.parts;
    wake.readyMs = scheduler.nowMs + delayMs;
    scheduler.after(delayMs + 0.01, undefined, 'wakes due', () => this.dispatch());
  }
}
