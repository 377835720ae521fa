import { isNativeError } from 'node:util/types';
import { AppError, omitUndefined } from '@caribou/contracts';
import { redact, redactText } from './redact.js';

const MAX_CAUSES = 3;

/**
 * Converts an error for a log line: name, message, code, details and causes. Expected AppErrors have no stack, because
 * their class already identifies them.
 */
export function describeError(error: unknown, depth = 0): unknown {
  if (!isNativeError(error)) return redact(error);
  const known = error instanceof AppError;
  const code = codeOf(error);
  const hasCause = error.cause !== undefined && depth < MAX_CAUSES;
  return {
    name: error.name,
    message: redactText(error.message),
    ...omitUndefined({ code }),
    ...(known && Object.keys(error.details).length > 0 ? { details: redact(error.details) } : {}),
    ...(known && error.expected ? {} : { stack: redactText(error.stack ?? '') }),
    ...(hasCause ? { cause: describeError(error.cause, depth + 1) } : {}),
  };
}

/** Returns the code of an AppError, of Node or of a client, such as `ECONNREFUSED`. */
function codeOf(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
