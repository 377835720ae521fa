import { UnavailableError } from '@caribou/contracts';
import type { RedisLink } from '@caribou/state';
import { type Fate, type Faults } from './faults.js';
import { answerInstead, type Sabotage, spoil } from './sabotage.js';
import { context, type Scheduler, type SimProcess } from './scheduler.js';
import type { VirtualRedis } from './virtual-redis.js';

/** The time limit of a command, as in `RedisOptions.commandTimeoutMs`. */
const STORE_TIMEOUT_MS = 3_000;

/** A command as the store executed it. */
export interface Executed {
  readonly process: SimProcess;
  readonly operation: string;
  readonly args: readonly unknown[];
  readonly reply: unknown;
  /** The time by the clock of the store. */
  readonly wallMs: number;
}

export interface NetworkParts {
  readonly scheduler: Scheduler;
  readonly faults: Faults;
  readonly redis: VirtualRedis;
  readonly sabotage: Sabotage | undefined;
  readonly kill: (process: SimProcess) => void;
  readonly onExecuted: (executed: Executed) => void;
}

interface Request<Reply> {
  readonly process: SimProcess;
  readonly operation: string;
  readonly kind: 'store' | 'bus';
  readonly execute: () => Promise<Reply>;
  readonly away: () => Error;
}

interface Pending<Reply> extends Request<Reply> {
  readonly fate: Fate;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: unknown) => void;
}

/** Everything between processes: each request may be delayed, lost, executed without an answer, or end its sender. */
export class Network {
  private storeAwayUntilMs = 0;

  constructor(private readonly parts: NetworkParts) {}

  /** The store as one process reaches it. */
  link(process: SimProcess): RedisLink {
    const { scheduler, redis, sabotage, onExecuted } = this.parts;
    return {
      use: (command) => {
        const { operation = 'command', args = [] } = context.getStore() ?? {};
        const execute = async () => {
          const { wallMs } = scheduler;
          const refusal = await answerInstead(sabotage, redis, { operation, args, wallMs });
          // The reply of a script that refuses is the same for all callers.
          if (refusal !== undefined) return refusal as Awaited<ReturnType<typeof command>>;
          const reply = await redis.execute(wallMs, command);
          await spoil(sabotage, redis, { operation, args, wallMs });
          onExecuted({ process, operation, args, reply: asTexts(reply), wallMs });
          return reply;
        };
        return this.request({ process, operation, kind: 'store', execute, away: createStoreUnavailable });
      },
      close: () => Promise.resolve(),
    };
  }

  /** One request and its reply. Neither resolves nor rejects when the process is dead by then. */
  request<Reply>(request: Request<Reply>): Promise<Reply> {
    const { process, operation, kind } = request;
    const { faults, kill } = this.parts;
    return new Promise((resolve, reject) => {
      if (!process.alive) return;
      if (faults.killsAt(process.role, `${operation}:before`)) {
        kill(process);
        return;
      }
      this.send({ ...request, fate: faults.fate(kind), resolve, reject });
    });
  }

  /** Makes the store unavailable until then. */
  takeStoreAway(untilMs: number): void {
    this.storeAwayUntilMs = untilMs;
  }

  private send<Reply>(pending: Pending<Reply>): void {
    const { scheduler } = this.parts;
    const { kind, fate, process, operation } = pending;
    const awayMs = kind === 'store' ? Math.max(0, this.storeAwayUntilMs - scheduler.nowMs) : 0;
    const waitMs = awayMs + this.latencyOf(fate);
    const isLost = fate === 'lost' || awayMs > STORE_TIMEOUT_MS;
    if (!isLost)
      scheduler.after(waitMs, undefined, `${process.name} ${operation}: ${fate}`, () => this.arrive(pending));
    if (isLost || fate === 'reply-lost' || fate === 'late') {
      const failsAfterMs =
        fate === 'late' ? STORE_TIMEOUT_MS : scheduler.random.between(waitMs + 1, waitMs + STORE_TIMEOUT_MS);
      scheduler.after(failsAfterMs, process, `${operation} fails`, () => pending.reject(pending.away()));
    }
  }

  private latencyOf(fate: Fate): number {
    const { random } = this.parts.scheduler;
    if (fate === 'slow') return random.between(50, 2_900);
    if (fate === 'late') return random.between(STORE_TIMEOUT_MS + 1, 9_000);
    return random.chance(0.05) ? random.between(2, 60) : random.between(0.1, 2);
  }

  private async arrive<Reply>(pending: Pending<Reply>): Promise<void> {
    const { scheduler, faults, kill } = this.parts;
    const { process, operation, fate } = pending;
    // What a process sent before it died may still arrive.
    if (!process.alive && scheduler.random.chance(0.5)) return;
    let settle: () => void;
    try {
      const reply = await pending.execute();
      if (fate === 'twice') await pending.execute();
      settle = () => pending.resolve(reply);
    } catch (error) {
      settle = () => pending.reject(error);
    }
    if (!process.alive) return;
    if (faults.killsAt(process.role, `${operation}:executed`)) {
      kill(process);
      return;
    }
    if (fate === 'reply-lost' || fate === 'late') return;
    scheduler.after(this.latencyOf('ok'), process, `${operation} answered`, settle);
  }
}

/** A reply of Redis with texts in place of buffers, in which scripts reply. */
function asTexts(reply: unknown): unknown {
  if (Array.isArray(reply)) return reply.map(asTexts);
  return Buffer.isBuffer(reply) ? reply.toString() : reply;
}

const createStoreUnavailable = (): UnavailableError =>
  new UnavailableError('Redis did not answer in time', { details: { dependency: 'redis' } });

/** Names each call of the port, for the records of the store and for the places where processes are killed. */
export function withCallNames<Port extends object>(name: string, port: Port): Port {
  return new Proxy(port, {
    get: (target, method) => {
      const value: unknown = Reflect.get(target, method);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        const current = context.getStore();
        const call = (): unknown => Reflect.apply(value, target, args);
        if (current === undefined) return call();
        return context.run({ ...current, operation: `${name}.${String(method)}`, args }, call);
      };
    },
  });
}
