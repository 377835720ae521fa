import { AsyncLocalStorage } from 'node:async_hooks';
import type { Random } from './random.js';

/** A simulated process: what it starts ends with it. */
export class SimProcess {
  alive = true;
  /** Nothing of the process runs before this time, as after SIGSTOP. */
  pausedUntilMs = 0;
  /** When it died, by the monotonic clock. */
  diedMs: number | undefined;

  constructor(
    readonly role: string,
    readonly name: string,
  ) {}
}

/** The process whose code is running, and its current call of a port. */
export interface Context {
  readonly process: SimProcess;
  readonly scheduler: Scheduler;
  readonly operation?: string;
  readonly args?: readonly unknown[];
}

export const context = new AsyncLocalStorage<Context>();

export interface Entry {
  readonly atMs: number;
  readonly order: number;
  readonly process: SimProcess | undefined;
  readonly label: string;
  readonly run: () => void | Promise<void>;
  cancelled: boolean;
}

/** What runs at the end of the current turn of a process. */
export class SimImmediate {
  cancelled = false;

  constructor(
    readonly process: SimProcess,
    readonly run: () => void,
  ) {}
}

const realImmediate = setImmediate;
const nextTurn = (): Promise<void> => new Promise((resolve) => realImmediate(resolve));

/**
 * Virtual time and the queue of all events. One entry runs at a time, and the next one only when no process can continue
 * without it, so equal seeds give equal histories.
 */
export class Scheduler {
  /** The monotonic clock of all processes, in milliseconds. */
  nowMs = 1_000;
  /** Wall clock minus monotonic clock; a jump of the wall clock changes it. */
  wallOffsetMs = 1_800_000_000_000;
  steps = 0;
  private digestValue = 0x811c9dc5;
  private readonly heap: Entry[] = [];
  private order = 0;
  private immediates: SimImmediate[] = [];
  readonly lines: string[] = [];

  constructor(
    readonly random: Random,
    private readonly tracing: boolean,
  ) {}

  get wallMs(): number {
    return this.nowMs + this.wallOffsetMs;
  }

  /** A number that differs when the history does. */
  get digest(): string {
    return (this.digestValue >>> 0).toString(16).padStart(8, '0');
  }

  /** Runs `run` after `delayMs`; never when the process has died by then. */
  after(delayMs: number, process: SimProcess | undefined, label: string, run: Entry['run']): Entry {
    const entry = { atMs: this.nowMs + Math.max(0, delayMs), order: this.order, process, label, run, cancelled: false };
    this.order += 1;
    push(this.heap, entry);
    return entry;
  }

  /** Resolves after `delayMs`, in the life of the process. */
  sleep(delayMs: number, process: SimProcess | undefined, label: string): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, process, label, resolve));
  }

  immediate(process: SimProcess, run: () => void): SimImmediate {
    const entry = new SimImmediate(process, run);
    this.immediates.push(entry);
    return entry;
  }

  note(what: string): void {
    for (let at = 0; at < what.length; at += 1) {
      this.digestValue = Math.imul(this.digestValue ^ what.charCodeAt(at), 0x01000193);
    }
    if (this.tracing) this.lines.push(`${(this.nowMs / 1000).toFixed(4).padStart(10)} ${what}`);
  }

  /** Takes the next entry, moves time to it and runs everything that follows from it. Returns false for an empty queue. */
  async step(): Promise<boolean> {
    const entry = pop(this.heap);
    if (entry === undefined) return false;
    if (entry.cancelled || entry.process?.alive === false) return true;
    if (entry.process !== undefined && entry.process.pausedUntilMs > entry.atMs) {
      this.after(entry.process.pausedUntilMs - this.nowMs, entry.process, entry.label, entry.run);
      return true;
    }
    this.steps += 1;
    this.nowMs = Math.max(this.nowMs, entry.atMs) + 0.001;
    this.note(`${entry.process?.name ?? '-'} ${entry.label}`);
    await this.enter(entry.process, entry.run);
    await this.settle();
    return true;
  }

  /** Runs code as the process. */
  enter<Result>(process: SimProcess | undefined, run: () => Result): Result {
    return process === undefined ? context.exit(run) : context.run({ process, scheduler: this }, run);
  }

  /** Resolves when no process can continue without another entry. */
  async settle(): Promise<void> {
    await nextTurn();
    while (this.immediates.length > 0) {
      const due = this.immediates;
      this.immediates = [];
      for (const { process, run, cancelled } of due) {
        if (process.alive && !cancelled) this.enter(process, run);
      }
      await nextTurn();
    }
  }
}

const isBefore = (one: Entry, other: Entry): boolean =>
  one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);

function push(heap: Entry[], entry: Entry): void {
  let at = heap.length;
  heap.push(entry);
  while (at > 0) {
    const above = (at - 1) >> 1;
    const parent = heap[above];
    if (parent === undefined || !isBefore(entry, parent)) break;
    heap[at] = parent;
    at = above;
  }
  heap[at] = entry;
}

function pop(heap: Entry[]): Entry | undefined {
  const first = heap[0];
  const last = heap.pop();
  if (first === undefined || last === undefined || first === last) return first;
  let at = 0;
  for (;;) {
    const left = heap[2 * at + 1];
    const right = heap[2 * at + 2];
    if (left === undefined) break;
    const takesRight = right !== undefined && isBefore(right, left);
    const child = takesRight ? right : left;
    if (!isBefore(child, last)) break;
    heap[at] = child;
    at = 2 * at + (takesRight ? 2 : 1);
  }
  heap[at] = last;
  return first;
}
