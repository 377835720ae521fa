import type { Logger } from '@caribou/core';
import { SimBus } from '../virtual/bus.js';
import { type FaultKind, Faults } from '../virtual/faults.js';
import { History } from './history.js';
import { Ledger, Machine } from '../virtual/machine.js';
import { Network } from '../virtual/network.js';
import { startManager, startRunner, tracingLogger } from './processes.js';
import { Random } from '../virtual/random.js';
import type { Sabotage } from '../virtual/sabotage.js';
import { Scheduler, SimProcess } from '../virtual/scheduler.js';
import type { Sizes } from './environment.js';
import { startPool } from './task-processes.js';
import type { VirtualRedis } from '../virtual/virtual-redis.js';
import { WakeQueue } from '../virtual/wake-queue.js';

export type Role = 'runner' | 'manager' | 'gateway' | 'pool';

const FLEET: readonly Role[] = ['runner', 'runner', 'manager', 'manager', 'gateway'];
const POOLS: readonly Role[] = ['pool', 'pool'];
/** Mean time between two checks for a spontaneous fault. */
const FAULT_EVERY_MS = 4_000;
const HOUR_MS = 3_600_000;

export interface WorldOptions {
  readonly allowed: readonly FaultKind[];
  readonly tracing: boolean;
  readonly sabotage: Sabotage | undefined;
}

function drawSizes(random: Random): Sizes {
  const crowded = random.chance(0.15);
  return {
    crowded,
    runnerSlots: crowded ? 1 : random.whole(1, 2),
    maxRunningPerUser: random.pick([0, 1, 1, 2]),
    poolSlots: random.whole(1, 2),
    tasks: { maxRunning: random.whole(1, 3), maxRunningPerUser: random.whole(1, 2) },
  };
}

/** One installation in one history: its processes, their connections, and the faults. */
export class World {
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly faults: Faults;
  readonly network: Network;
  readonly bus: SimBus;
  readonly wakes: WakeQueue;
  readonly ledger: Ledger;
  readonly machine: Machine;
  readonly taskWakes: WakeQueue;
  readonly sizes: Sizes;
  readonly hasTasks: boolean;
  readonly history: History;
  /** Failures that no fault explains. */
  readonly defects: string[] = [];
  kills = 0;
  /** When the last pause, cut or outage is over. */
  calmFromMs = 0;
  private downUntilMs = 0;
  private processes: SimProcess[] = [];
  private started = 0;
  private modelCalls = 0;

  constructor(
    seed: number,
    private readonly redis: VirtualRedis,
    readonly options: WorldOptions,
  ) {
    this.random = new Random(seed);
    this.scheduler = new Scheduler(this.random, options.tracing);
    this.faults = new Faults(this.random, options.allowed);
    const { scheduler, faults } = this;
    this.hasTasks = this.random.chance(0.4);
    this.sizes = drawSizes(this.random);
    this.history = new History(this.sizes, () => scheduler.nowMs);
    const { sabotage } = options;
    const onExecuted = this.history.executed;
    this.network = new Network({ scheduler, faults, redis, sabotage, kill: this.kill, onExecuted });
    const { network } = this;
    const onPublished = this.history.recordPublished.bind(this.history);
    this.bus = new SimBus({ scheduler, faults, network, onPublished });
    const onDefect = (where: string, error: unknown): void => this.defect(where, error);
    const queue = { scheduler, faults, network, bus: this.bus, onDefect };
    this.wakes = new WakeQueue({ ...queue, name: 'wakes' });
    this.taskWakes = new WakeQueue({ ...queue, name: 'taskWakes' });
    this.ledger = new Ledger(scheduler);
    this.machine = new Machine(scheduler, this.ledger);
  }

  /** Starts the fleet, and spontaneous faults. */
  start(): void {
    this.startAll();
    this.awaitFault();
  }

  readonly nextModelCall = (): number => {
    this.modelCalls += 1;
    return this.modelCalls;
  };

  /** The remaining time of an outage. */
  get downForMs(): number {
    return Math.max(0, this.downUntilMs - this.scheduler.nowMs);
  }

  /** Stops all faults and restores all connections. */
  heal(): void {
    this.faults.stop();
    this.scheduler.note('HEALED');
  }

  /** The processes of the role that are not dead. */
  living(role: Role): readonly SimProcess[] {
    return this.processes.filter((process) => process.alive && process.role === role);
  }

  /** A living process of the role, if there is one. */
  any(role: Role): SimProcess | undefined {
    const living = this.living(role);
    return living.length === 0 ? undefined : this.random.pick(living);
  }

  /** kill -9; another process of its role starts later. */
  readonly kill = (process: SimProcess): void => {
    if (!process.alive) return;
    this.end(process);
    const role = process.role as Role;
    const staysAway = this.sizes.crowded || this.random.chance(0.1);
    const awayMs = staysAway ? this.random.between(60_000, 120_000) : this.random.between(100, 20_000);
    this.scheduler.after(awayMs, undefined, `${role} starts`, () => {
      // The end of an outage starts all of them.
      if (this.downForMs === 0) this.startProcess(role);
    });
  };

  defect(where: string, error: unknown): void {
    this.defects.push(`${where}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  }

  loggerOf(process: SimProcess): Logger {
    return tracingLogger(
      (line) => this.scheduler.note(`${process.name} ${line}`),
      (event, error) => {
        if (event === 'run failed by a defect') this.defect(event, error);
      },
    );
  }

  private end(process: SimProcess): void {
    this.kills += 1;
    this.scheduler.note(`KILL ${process.name}`);
    process.alive = false;
    process.diedMs = this.scheduler.nowMs;
    this.processes = this.processes.filter((other) => other !== process);
    if (this.options.sabotage === 'journal')
      this.scheduler.after(0, undefined, 'SABOTAGE', () => this.redis.forget('execution'));
  }

  private startProcess(role: Role): void {
    this.started += 1;
    const process = new SimProcess(role, `${role}-${this.started}`);
    if (role === 'runner' && !this.processes.some((other) => other.role === role)) this.history.runnersSince();
    this.processes.push(process);
    this.scheduler.enter(process, () => {
      if (role === 'runner') startRunner(this, process);
      if (role === 'manager') startManager(this, process);
      if (role === 'pool') startPool(this, process);
    });
  }

  private startAll(): void {
    for (const role of this.hasTasks ? [...FLEET, ...POOLS] : FLEET) this.startProcess(role);
  }

  private awaitFault(): void {
    const waitMs = this.downForMs + this.random.between(0, 2 * FAULT_EVERY_MS);
    this.scheduler.after(waitMs, undefined, 'fault?', async () => {
      await this.fault();
      this.awaitFault();
    });
  }

  private async fault(): Promise<void> {
    const { faults, random, scheduler } = this;
    if (this.processes.length === 0) return;
    this.jump();
    if (faults.strikes('pause', 0.3)) {
      const process = random.pick(this.processes);
      process.pausedUntilMs = this.endOfFault(random.between(500, 40_000));
      scheduler.note(`PAUSE ${process.name}`);
    }
    if (faults.strikes('store', 0.1)) this.network.takeStoreAway(this.endOfFault(random.between(200, 12_000)));
    if (faults.strikes('bus', 0.2))
      this.bus.cut(random.pick(this.processes), this.endOfFault(random.between(200, 12_000)));
    if (faults.strikes('bus', 0.05)) for (const wakes of [this.wakes, this.taskWakes]) wakes.loseAll();
    if (faults.strikes('bus', 0.05)) for (const wakes of [this.wakes, this.taskWakes]) wakes.strand();
    if (faults.strikes('failover', 0.5)) await this.failOver();
    if (faults.strikes('kill', 0.1)) this.kill(random.pick(this.processes));
    else if (faults.strikes('outage', 0.1)) this.endAll();
  }

  private jump(): void {
    const { faults, random, scheduler } = this;
    if (!faults.strikes('jump', 0.3)) return;
    const jumpMs = random.pick([-1, 1]) * random.between(1_000, 90_000);
    scheduler.wallOffsetMs += jumpMs;
    scheduler.note(`JUMP of the wall clock by ${Math.round(jumpMs)} ms`);
  }

  private endOfFault(afterMs: number): number {
    const endMs = this.scheduler.nowMs + afterMs;
    this.calmFromMs = Math.max(this.calmFromMs, endMs);
    return endMs;
  }

  private async failOver(): Promise<void> {
    const lost = this.random.whole(1, 6);
    this.scheduler.note(`FAILOVER, ${lost} commands lost`);
    await this.redis.loseLast(lost);
  }

  /** The whole installation is down, for up to three days. */
  private endAll(): void {
    const forMs = this.random.between(60_000, 72 * HOUR_MS);
    this.scheduler.note(`OUTAGE of ${Math.round(forMs / 1000)} s`);
    for (const process of this.processes) this.end(process);
    this.downUntilMs = this.endOfFault(forMs);
    this.scheduler.after(forMs, undefined, 'the installation starts', () => {
      this.startAll();
    });
  }
}
