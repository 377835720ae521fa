import type { RunKwargs } from '@caribou/contracts';

/** A run with an input, as its gateway offers it to a runner. Only the store knows whether it is still like this. */
export interface OfferedRun {
  readonly runId: string;
  /** What the request asked for, as it was stored, or is to be. */
  readonly kwargs: RunKwargs;
  /** The newest checkpoint of the thread at the admission; null for none. */
  readonly headId: string | null;
  /** Set when the run is not admitted yet: the runner does it as it begins the run. */
  readonly admission?: OfferedAdmission;
}

/** The other part of a run's admission. */
export interface OfferedAdmission {
  /** Whether the thread was just created; else the runner has to hold its state. */
  readonly isNew: boolean;
  readonly assistantId: string;
  readonly agent: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly strategy: string;
  readonly apiKey?: string;
  readonly traceparent?: string;
  /** The process that admits the run, and the kind of its request, for the run's trace; absent without traces. */
  readonly asked?: { readonly process: string; readonly request: string };
  /** Quotas of the user: runs in flight, bytes of the state and of all stored runs; 0: no limit. */
  readonly limits: { readonly inFlight: number; readonly stateBytes: number; readonly storedBytes: number };
}

/** What the store decided when it admitted and began a run in one step. */
export interface BegunAdmission {
  readonly createdAt: string;
  readonly ordinal: string;
  /** Bytes of the state that the run found. */
  readonly stateBytes: number;
  /** Runs of the user in flight, with this one. */
  readonly inFlight: number;
}
