import { UnavailableError } from '@caribou/contracts';

/** Why a store did not do what was asked; `details.reason` of the error. */
export type StoreFailureReason =
  /** No connection, or one that broke. */
  | 'unreachable'
  /** No answer, or no progress, in time. */
  | 'timeout'
  /** The store, or this process, has too much to do. */
  | 'overloaded'
  /** The store, its disk or its quota is full. */
  | 'full'
  /** The keys are unknown, wrong or expired. */
  | 'credentials'
  /** The keys, or this process, may not do this. */
  | 'permission'
  | 'bucket'
  | 'region'
  /** The clocks of this machine and of the store differ too much. */
  | 'clock'
  /** The bytes are not those that were stored. */
  | 'altered'
  /** An object ended before its last byte. */
  | 'cut'
  /** An answer that is not one of S3. */
  | 'protocol'
  | 'failed';

/** Failures after which the same call may succeed later, although nobody changed anything. */
const passing: ReadonlySet<StoreFailureReason> = new Set([
  'unreachable',
  'timeout',
  'overloaded',
  'full',
  'cut',
  'failed',
]);

export interface StoreFailureOptions {
  readonly cause?: unknown;
  /** HTTP status of the answer. */
  readonly status?: number;
  /** Whether the adapter repeats the request by itself; default false. */
  readonly isRepeated?: boolean;
  /** How long the store asks to be left alone, in milliseconds. */
  readonly retryAfterMs?: number;
}

/** An object store that is away, refuses or breaks its protocol. The message names what to change, and no host, path or key of access. */
export class StoreFailure extends UnavailableError {
  readonly reason: StoreFailureReason;
  readonly isRepeated: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(reason: StoreFailureReason, message: string, options: StoreFailureOptions = {}) {
    const { cause, status, isRepeated = false, retryAfterMs } = options;
    super(`object store: ${message}`, {
      cause,
      retryable: passing.has(reason),
      details: { dependency: 'objects', reason, ...(status === undefined ? {} : { status }) },
    });
    this.reason = reason;
    this.isRepeated = isRepeated;
    this.retryAfterMs = retryAfterMs;
  }
}
