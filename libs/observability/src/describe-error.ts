import { isNativeError } from 'node:util/types';
import { AppError } from '@caribou/contracts';
import { redact, redactText } from './redact.js';

const MAX_CAUSES = 3;

/**
 * An error as a log line holds it: name, message, code, details and causes. The stack only of errors that nobody
 * expects: an AppError of an expected class is an answer, and its origin is its class.
 */
export function describeError(error: unknown, depth = 0): unknown {
  if (!isNativeError(error)) return redact(error);
  const known = error instanceof AppError;
  const code = codeOf(error);
  const hasCause = error.cause !== undefined && depth < MAX_CAUSES;
  return {
    name: error.name,
    message: redactText(error.message),
    ...(code === undefined ? {} : { code }),
    ...(known && Object.keys(error.details).length > 0 ? { details: redact(error.details) } : {}),
    ...(known && error.expected ? {} : { stack: redactText(error.stack ?? '') }),
    ...(hasCause ? { cause: describeError(error.cause, depth + 1) } : {}),
  };
}

/** Our code, or the one of Node and of clients (`ECONNREFUSED`). */
function codeOf(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
