/** How much work waits in a queue. */
export interface QueueState {
  readonly length: number;
  /** How long the entry that has waited longest has done so; 0 for an empty queue. */
  readonly oldestWaitMs: number;
}

export const EMPTY_QUEUE: QueueState = { length: 0, oldestWaitMs: 0 };
