import { webcrypto } from 'node:crypto';
import type { S3Body } from './s3-client.js';

/**
 * Bytes as the body of a request. A checksum that is not known is computed on another thread, as it takes tens of milliseconds for a
 * part of an upload.
 *
 * @param sha256 in lower-case hexadecimal digits, when it is known
 */
export async function sentBytes(bytes: Uint8Array, sha256?: string): Promise<S3Body> {
  return { size: bytes.byteLength, sha256: sha256 ?? (await sha256Of(bytes)), open: () => [bytes] };
}

const sha256Of = async (bytes: Uint8Array): Promise<string> =>
  Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes)).toString('hex');
