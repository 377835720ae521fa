import { AppError, BugError, UnavailableError } from '@caribou/contracts';

/** Replies of a Redis that cannot serve at present; the command had no effect. */
const refusals = /^(OOM|LOADING|MISCONF|READONLY|MASTERDOWN|NOREPLICAS|BUSY|TRYAGAIN|CLUSTERDOWN)\b/;

/** Translates an error of the Redis client: Redis is unavailable, or the command is a defect. */
export function asAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof Error && error.name === 'ReplyError' && !refusals.test(error.message)) {
    return new BugError(`Redis refused a command: ${error.message}`, { cause: error });
  }
  const reason = error instanceof Error ? error.message : String(error);
  const noEffect = error instanceof Error && refusals.test(error.message);
  const details = { dependency: 'redis', ...(noEffect ? { noEffect } : {}) };
  return new UnavailableError(`Redis is not available: ${reason}`, { cause: error, details });
}

/** The error for a key whose type is not the one that the product gives it. */
export const foreignType = (key: unknown): BugError =>
  new BugError('a key of the store holds a foreign type', { details: { key } });
