import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** User and system CPU time of a process so far, in milliseconds; 0 when it is gone. Linux only. */
export function cpuMs(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond;
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')) return 0;
    throw error;
  }
}

/** CPU milliseconds that named processes used between two moments. */
export function cpuMeter(processes: Readonly<Record<string, number>>): () => Record<string, number> {
  const before = Object.entries(processes).map(([name, pid]) => [name, pid, cpuMs(pid)] as const);
  return () => Object.fromEntries(before.map(([name, pid, start]) => [name, cpuMs(pid) - start]));
}
