import type { S3StoreConfig } from '@caribou/config';

export type Query = Readonly<Record<string, string>>;

/** The URL of the bucket, or of an object of it by its full key. */
export function requestUrl(
  { endpoint, bucket, addressing }: Pick<S3StoreConfig, 'endpoint' | 'bucket' | 'addressing'>,
  fullKey: string | undefined,
  query: Query = {},
): URL {
  const url = new URL(endpoint);
  const path = [url.pathname.replace(/\/+$/, '')];
  if (addressing === 'path') path.push(bucket);
  else url.hostname = `${bucket}.${url.hostname}`;
  // Keys need no encoding: see `checkKey`.
  path.push(fullKey ?? '');
  url.pathname = path.join('/');
  // The signature is made of `%20`, never of `+`.
  url.search = Object.entries(query)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join('&');
  return url;
}
