import { createHash } from 'node:crypto';
import { InvalidRequestError } from '@caribou/contracts';
import type { AdmitRequest } from '@caribou/state';

/** Form of a key: printable ASCII, as in the draft standard of the header. */
const pattern = /^[\x20-\x7e]{1,255}$/;

/**
 * The idempotency of a request with an `Idempotency-Key`: the same key with the same body on the same thread returns
 * the first run. `part` distinguishes the runs of one batch.
 *
 * @throws {InvalidRequestError} when the key is not 1 to 255 printable ASCII characters
 */
export function idempotencyOf(
  header: string | readonly string[] | undefined,
  content: { readonly threadId: string | null; readonly body: unknown; readonly part?: number },
): AdmitRequest['idempotency'] {
  if (header === undefined) return undefined;
  if (typeof header !== 'string' || !pattern.test(header)) {
    throw new InvalidRequestError('Idempotency-Key: must be 1 to 255 printable ASCII characters');
  }
  const bodyHash = createHash('sha256')
    .update(JSON.stringify([content.threadId, content.body]))
    .digest('hex');
  return { key: content.part === undefined ? header : `${header}#${content.part}`, bodyHash };
}
