import { type ChildProcess, fork } from 'node:child_process';
import type { HistoryReport } from './simulate.js';

/** Seeds queued for one process, so that it never waits for the next. */
const AHEAD = 2;

export interface SeedRange {
  readonly first: number;
  readonly count: number;
}

/** Processes that simulate side by side, each with a redis-server of its own. */
export class SeedPool {
  private readonly workers: readonly ChildProcess[];
  private readonly first: number;
  private next: number;
  private readonly end: number;
  private readonly waiting = new Map<number, HistoryReport>();
  private wake: () => void = () => undefined;
  private failure: Error | undefined;

  /** @param args of each process, as `Options` are read from */
  constructor(count: number, { first, count: seeds }: SeedRange, args: readonly string[]) {
    this.first = first;
    this.next = first;
    this.end = first + seeds;
    const program = process.argv[1] ?? '';
    this.workers = Array.from({ length: Math.min(count, seeds) }, () => fork(program, ['--worker', ...args]));
    for (const worker of this.workers) {
      worker.on('message', (report: HistoryReport) => this.take(worker, report));
      worker.once('error', (error) => this.fail(error));
      worker.once('exit', (code) => this.fail(new Error(`a process ended by itself with code ${code ?? 'none'}`)));
    }
    for (let round = 0; round < AHEAD; round += 1) for (const worker of this.workers) this.send(worker);
  }

  /** The reports in the order of their seeds. @throws {Error} when a process ends by itself */
  async *reports(): AsyncGenerator<HistoryReport> {
    for (let seed = this.first; seed < this.end; seed += 1) yield await this.reportOf(seed);
  }

  close(): void {
    for (const worker of this.workers) {
      worker.removeAllListeners('exit');
      if (worker.connected) worker.disconnect();
    }
  }

  private async reportOf(seed: number): Promise<HistoryReport> {
    for (;;) {
      const report = this.waiting.get(seed);
      this.waiting.delete(seed);
      if (report !== undefined) return report;
      if (this.failure !== undefined) throw this.failure;
      await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }

  private take(worker: ChildProcess, report: HistoryReport): void {
    this.waiting.set(report.seed, report);
    this.send(worker);
    this.wake();
  }

  private send(worker: ChildProcess): void {
    if (this.next >= this.end) return;
    worker.send(this.next);
    this.next += 1;
  }

  private fail(error: Error): void {
    this.failure ??= error;
    this.wake();
  }
}
