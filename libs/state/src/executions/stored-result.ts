import { TooLargeError } from '@caribou/contracts';

const MAX_RESULT_BYTES = 2 * 1024 * 1024;

/**
 * The JSON text of a result for an entry of a journal; null for undefined.
 *
 * @throws {TooLargeError} above 2 MiB; `what` names the result in its message
 */
export function resultText(result: unknown, what: string): string {
  const text = JSON.stringify(result ?? null);
  if (Buffer.byteLength(text) > MAX_RESULT_BYTES) {
    throw new TooLargeError(`${what} is too large`, { details: { limitBytes: MAX_RESULT_BYTES } });
  }
  return text;
}
