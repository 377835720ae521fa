/** Bounds of a proxy. Times in milliseconds, sizes in bytes. */
export interface ProxyLimits {
  /** Of all clients together. */
  readonly connections: number;
  readonly connectionsPerClient: number;
  readonly headerBytes: number;
  /** From the connection to the end of the request's header. */
  readonly headerTimeoutMs: number;
  readonly resolveTimeoutMs: number;
  /** For each address that is tried. */
  readonly connectTimeoutMs: number;
  /** Without a byte in either direction. */
  readonly idleMs: number;
  /** The same, once one side has said all it had to say. */
  readonly halfClosedIdleMs: number;
  /** In both directions together; absent: any number. */
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
