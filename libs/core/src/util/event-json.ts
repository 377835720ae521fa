import type { RunEvent } from '@caribou/contracts';
import { memoize } from './memoize.js';

/** The JSON of an event. Most events are written to the log and then published, so it is made once. */
export const eventJson = memoize((event: RunEvent) => JSON.stringify(event));
