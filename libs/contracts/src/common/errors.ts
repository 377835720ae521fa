import { z } from 'zod';

/** Every failure that crosses a process boundary has one of these codes. */
export const ErrorCode = z.enum([
  'bad_request',
  'invalid_request',
  'unauthenticated',
  'forbidden',
  'not_found',
  'conflict',
  'precondition_failed',
  'too_large',
  'unsupported_media_type',
  'rate_limited',
  'model_failed',
  'unavailable',
  'deadline',
  'fenced',
  'extension_failed',
  'internal',
]);
export type ErrorCode = z.infer<typeof ErrorCode>;

/** An AppError as sent over NATS or stored in a record, without its stack. */
export const WireError = z.object({
  code: ErrorCode,
  message: z.string(),
  retryable: z.boolean(),
  details: z.record(z.string(), z.unknown()).default({}),
});
export type WireError = z.infer<typeof WireError>;

interface Traits {
  readonly status: number;
  readonly retryable: boolean;
  /** Expected errors are answers to the caller and are logged at info; the others at error with their stack. */
  readonly expected: boolean;
}

const traits: Readonly<Record<ErrorCode, Traits>> = {
  bad_request: { status: 400, retryable: false, expected: true },
  invalid_request: { status: 422, retryable: false, expected: true },
  unauthenticated: { status: 401, retryable: false, expected: true },
  forbidden: { status: 403, retryable: false, expected: true },
  not_found: { status: 404, retryable: false, expected: true },
  conflict: { status: 409, retryable: false, expected: true },
  precondition_failed: { status: 412, retryable: false, expected: true },
  too_large: { status: 413, retryable: false, expected: true },
  unsupported_media_type: { status: 415, retryable: false, expected: true },
  rate_limited: { status: 429, retryable: true, expected: true },
  model_failed: { status: 502, retryable: false, expected: true },
  unavailable: { status: 503, retryable: true, expected: true },
  deadline: { status: 504, retryable: true, expected: true },
  fenced: { status: 409, retryable: false, expected: true },
  extension_failed: { status: 500, retryable: false, expected: true },
  internal: { status: 500, retryable: false, expected: false },
};

export interface AppErrorOptions {
  readonly details?: Readonly<Record<string, unknown>>;
  readonly retryable?: boolean;
  readonly cause?: unknown;
}

/**
 * Base of all errors of the product: its code decides HTTP status, retry and log level; `message` is written for the
 * caller.
 */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly retryable: boolean;
  readonly expected: boolean;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    const trait = traits[code];
    // The bundler adds a number where a package has a class of the same name.
    this.name = new.target.name.replace(/\d+$/, '');
    this.code = code;
    this.status = trait.status;
    this.retryable = options.retryable ?? trait.retryable;
    this.expected = trait.expected;
    this.details = options.details ?? {};
  }
}

const errorOf = (code: ErrorCode) =>
  class extends AppError {
    constructor(message: string, options?: AppErrorOptions) {
      super(code, message, options);
    }
  };

/** 400: the bytes of the request cannot be read, or the route cannot do this with what the path names. */
export class BadRequestError extends errorOf('bad_request') {}
/** 422: the caller's input breaks a contract; the message names the field and the limit. */
export class InvalidRequestError extends errorOf('invalid_request') {}
/** 401: no or an unknown key. */
export class UnauthenticatedError extends errorOf('unauthenticated') {}
/** 403: the caller is known but may not do this. */
export class ForbiddenError extends errorOf('forbidden') {}
/** 404: it does not exist, or belongs to another user. */
export class NotFoundError extends errorOf('not_found') {}
/** 409: the resource is busy, or has changed meanwhile. */
export class ConflictError extends errorOf('conflict') {}
/** 412: the resource is not in the state that the caller expects. */
export class PreconditionFailedError extends errorOf('precondition_failed') {}
/** 413: over a declared size; `details.limitBytes`. */
export class TooLargeError extends errorOf('too_large') {}
/** 415: the body's content type is not the route's. */
export class UnsupportedMediaTypeError extends errorOf('unsupported_media_type') {}
/** 429: a quota or a full queue; `details.retryAfterMs` where it is known. */
export class RateLimitedError extends errorOf('rate_limited') {}
/** The model endpoint failed; `details.providerStatus`, `details.reason`. Retryable as the adapter decides. */
export class ModelError extends errorOf('model_failed') {}
/** 503: NATS, Redis, a service or the sandbox engine is away; `details.dependency`. */
export class UnavailableError extends errorOf('unavailable') {}
/** 504: a deadline passed; `details.afterMs`. */
export class DeadlineError extends errorOf('deadline') {}
/** The writer is not (or no longer) the owner of what it writes: it must stop locally, without reporting anything. */
export class FencedError extends errorOf('fenced') {}
/** An extension of the operator broke its contract or failed; the message names it. */
export class ExtensionError extends errorOf('extension_failed') {}
/** A defect of the product. */
export class BugError extends errorOf('internal') {}

const classes: Readonly<Record<ErrorCode, new (message: string, options?: AppErrorOptions) => AppError>> = {
  bad_request: BadRequestError,
  invalid_request: InvalidRequestError,
  unauthenticated: UnauthenticatedError,
  forbidden: ForbiddenError,
  not_found: NotFoundError,
  conflict: ConflictError,
  precondition_failed: PreconditionFailedError,
  too_large: TooLargeError,
  unsupported_media_type: UnsupportedMediaTypeError,
  rate_limited: RateLimitedError,
  model_failed: ModelError,
  unavailable: UnavailableError,
  deadline: DeadlineError,
  fenced: FencedError,
  extension_failed: ExtensionError,
  internal: BugError,
};

/** Converts an error for another process: an unexpected one loses its message, which could contain anything. */
export function toWireError(error: unknown): WireError {
  if (!(error instanceof AppError) || !error.expected) {
    return { code: 'internal', message: 'internal error', retryable: false, details: {} };
  }
  return { code: error.code, message: error.message, retryable: error.retryable, details: { ...error.details } };
}

/** Restores the AppError that `toWireError` converted, as the class of its code. */
export function fromWireError(wire: WireError): AppError {
  return new classes[wire.code](wire.message, { retryable: wire.retryable, details: wire.details });
}
