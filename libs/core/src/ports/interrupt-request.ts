import type { Decider, InterruptKind } from '@caribou/contracts';

/** A question to a person. */
export interface InterruptRequest {
  /** What is asked, as JSON: clients get it as the interrupt's value. */
  readonly value: unknown;
  /** JSON Schema of the answer, for clients. */
  readonly schema?: Readonly<Record<string, unknown>>;
  readonly kind?: InterruptKind;
  /**
   * Distinguishes the interrupts of one hook or tool call. By default they are numbered in the order in which they are
   * raised, which must then be the same each time the code runs.
   */
  readonly key?: string;
  /** The id; by default it is derived from run, step, scope and key. */
  readonly id?: string;
  readonly namespace?: readonly string[];
  readonly decider?: Decider;
  /** Milliseconds since 1970. At this time `onExpiry` becomes the answer. */
  readonly expiresAtMs?: number;
  readonly onExpiry?: unknown;
}

/** An interrupt that was answered: by a person, or by its deadline. */
export interface InterruptAnswer {
  readonly id: string;
  readonly value: unknown;
  /** User id; absent: the deadline. */
  readonly by?: string;
  readonly at: string;
}
