/** Bounds of a proxy. Times in milliseconds, sizes in bytes. */
export interface ProxyLimits {
  /** Connections of all clients together. */
  readonly connections: number;
  readonly connectionsPerClient: number;
  readonly headerBytes: number;
  /** The time from the connection to the end of the request's header. */
  readonly headerTimeoutMs: number;
  readonly resolveTimeoutMs: number;
  /** The time for each address that is tried. */
  readonly connectTimeoutMs: number;
  /** A connection ends after this time without a byte in either direction. */
  readonly idleMs: number;
  /** The same limit, once one side has finished sending. */
  readonly halfClosedIdleMs: number;
  /** The sum of both directions; unlimited when absent. */
  readonly bytesPerConnection?: number;
}

export const DEFAULT_PROXY_LIMITS: ProxyLimits = {
  connections: 512,
  connectionsPerClient: 64,
  headerBytes: 16_384,
  headerTimeoutMs: 10_000,
  resolveTimeoutMs: 10_000,
  connectTimeoutMs: 10_000,
  idleMs: 120_000,
  halfClosedIdleMs: 30_000,
};
