import type { NumberedEvent, RunEvent } from '@caribou/contracts';

/** Adds to the events the numbers that a script assigned: consecutive from `first`. */
export const numberEvents = (first: unknown, events: readonly RunEvent[]): NumberedEvent[] =>
  events.map((event, index) => ({ seq: Number(first) + index, event }));
