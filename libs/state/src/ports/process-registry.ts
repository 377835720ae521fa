/** Reply to a renewal. */
export interface ProcessRenewal {
  /** Number of processes with a lease, this one included. */
  readonly living: number;
  /** Ids of processes whose lease lapsed in the last minute, at most 100. */
  readonly dead: readonly string[];
}

/** A process under whose lease its claims live: when it lapses, others may take them over at once. */
export interface ProcessOwner {
  readonly processId: string;
  readonly leaseMs: number;
}

/**
 * The leases of the processes of one role. All methods throw UnavailableError when Redis does not answer in time.
 */
export interface ProcessRegistry {
  renew(owner: ProcessOwner): Promise<ProcessRenewal>;
  /** Number of processes with a lease, for a caller that is none of them. */
  countLiving(): Promise<number>;
  /** Removes the lease of a process that owns nothing any more. Idempotent. */
  release(processId: string): Promise<void>;
}
