import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** How many processes of the machine run or wait for a processor, this one among them: the fourth field, before the slash. */
const RUNNING = /^\S+ \S+ \S+ (\d+)\//;

/** Whether this process, and one more in its place, would each have a processor of their own at this moment. */
export function hasFreeProcessor(): boolean {
  const [, running] = RUNNING.exec(readFileSync('/proc/loadavg', 'latin1')) ?? [];
  return running !== undefined && Number(running) < availableParallelism();
}
