import type { ObjectInfo } from '@caribou/core';
import { StoreFailure } from '../common/store-failure.js';
import type { S3Client } from './s3-client.js';

/** What HEAD says of an object; undefined when the answer is 404, for which the bucket may be missing as well. */
export async function headObject(
  client: S3Client,
  { key, fullKey }: { readonly key: string; readonly fullKey: string },
  signal: AbortSignal | undefined,
): Promise<ObjectInfo | undefined> {
  const found = await client.text<ObjectInfo | 'missing'>(
    { method: 'HEAD', fullKey },
    {
      signal,
      maxBytes: 0,
      parse: (_, { 'content-length': size = '', 'last-modified': modified = '' }) => {
        const info = { key, size: Number(size), modifiedMs: Date.parse(modified) };
        if (size !== '' && Number.isSafeInteger(info.size) && !Number.isNaN(info.modifiedMs)) return info;
        throw new StoreFailure('protocol', 'it does not say the size or the time of an object');
      },
      accept: ({ status }) => (status === 404 ? 'missing' : undefined),
    },
  );
  return found === 'missing' ? undefined : found;
}
