import { readdirSync, readFileSync } from 'node:fs';
import { sum } from './sample.js';

/**
 * User and system CPU time so far of the threads that a process has, in milliseconds, to the nanosecond: the times in
 * `/proc/<pid>/stat` come in ticks of 10 ms. Linux only.
 */
function cpuMs(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const runNs = (thread: string): number =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
  return sum(threads.map(runNs)) / 1_000_000;
}

/** Process ids by their name in the report. */
export type Pids = Readonly<Record<string, number>>;

/** Milliseconds by process. */
export type CpuByProcess = Readonly<Record<string, number>>;

/** `cpu` + `factor` × `other`, for all processes of both. */
export function addCpu(cpu: CpuByProcess, other: CpuByProcess, factor = 1): CpuByProcess {
  const names = [...new Set([...Object.keys(cpu), ...Object.keys(other)])];
  return Object.fromEntries(names.map((name) => [name, (cpu[name] ?? 0) + factor * (other[name] ?? 0)]));
}

/** Begins to measure; the returned function reports the CPU time of each process since. */
export function cpuMeter(pids: Pids): () => CpuByProcess {
  const before = Object.entries(pids).map(([name, pid]) => ({ name, pid, startMs: cpuMs(pid) }));
  return () => Object.fromEntries(before.map(({ name, pid, startMs }) => [name, cpuMs(pid) - startMs]));
}

/** Resident memory of a process in bytes. Linux only. */
export function residentBytes(pid: number): number {
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kibibytes ?? 0) * 1024;
}
