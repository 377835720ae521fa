import { setFlagsFromString } from 'node:v8';

/** How much larger than what is alive the heap may grow before all of it is marked, in percent. About 35 MB are alive in a manager. */
const GROWTH_PERCENT = 200;
export const HEAP_GROWTH_FLAG = `--heap-growing-percent=${GROWTH_PERCENT}`;

/**
 * Lets the heap of this process grow more than V8 does by itself, which has measured that little is alive and leaves few MB of room. Buffers
 * count to that room: V8 would mark the whole heap for every third file of 1 MiB that an agent writes, which takes longer than to write it.
 */
export const allowHeapGrowth = (): void => setFlagsFromString(HEAP_GROWTH_FLAG);
