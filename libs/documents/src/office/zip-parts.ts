import { InvalidRequestError, TooLargeError } from '@caribou/contracts';
import { type Entry, fromBufferPromise, type ZipFile } from 'yauzl';
import type { DocumentLimits } from '../limits.js';

type ZipLimits = Pick<DocumentLimits, 'maxEntries' | 'maxEntryBytes' | 'maxInflatedBytes'>;

async function entriesOf(zip: ZipFile, maxEntries: number): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for await (const entry of zip.eachEntry()) {
    entries.push(entry);
    if (entries.length > maxEntries) throw new TooLargeError(`the file holds more than ${maxEntries} entries`);
  }
  return entries;
}

/**
 * Inflates the XML parts of an Office file. Bytes are counted while inflating, whatever sizes the entries claim; media
 * and nested archives are not opened.
 *
 * @throws TooLargeError when a limit is exceeded
 * @throws InvalidRequestError when an entry is encrypted
 */
export async function xmlParts(file: Buffer, limits: ZipLimits): Promise<ReadonlyMap<string, Buffer>> {
  const zip = await fromBufferPromise(file, { lazyEntries: true });
  const parts = new Map<string, Buffer>();
  let total = 0;
  for (const entry of await entriesOf(zip, limits.maxEntries)) {
    if (!/\.(xml|rels)$/i.test(entry.fileName)) continue;
    if (entry.isEncrypted()) throw new InvalidRequestError('the file is encrypted');
    const chunks: Buffer[] = [];
    let size = 0;
    const inflating = (await zip.openReadStreamPromise(entry)) as AsyncIterable<Buffer>;
    for await (const bytes of inflating) {
      size += bytes.length;
      total += bytes.length;
      if (size > limits.maxEntryBytes || total > limits.maxInflatedBytes) {
        throw new TooLargeError(
          `the file inflates to more than ${Math.min(limits.maxEntryBytes, limits.maxInflatedBytes)} bytes`,
        );
      }
      chunks.push(bytes);
    }
    parts.set(entry.fileName, Buffer.concat(chunks));
  }
  return parts;
}
