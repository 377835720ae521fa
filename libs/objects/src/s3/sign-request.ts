import { sign } from 'aws4';
import type { S3StoreConfig } from '@caribou/config';

/** SHA-256 of no bytes. */
export const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

export interface UnsignedRequest {
  readonly method: string;
  readonly url: URL;
  /** SHA-256 of the body; a store that gets other bytes refuses them. */
  readonly sha256: string;
  readonly nowMs: number;
}

type SigningSettings = Pick<S3StoreConfig, 'accessKeyId' | 'secretAccessKey' | 'sessionToken' | 'region'>;

/**
 * The headers that prove who sends a request (AWS Signature Version 4). Only those that a proxy does not change are signed: host,
 * time, checksum of the body and token.
 */
export function signRequest(
  { method, url, sha256, nowMs }: UnsignedRequest,
  { accessKeyId, secretAccessKey, sessionToken, region }: SigningSettings,
): Readonly<Record<string, string>> {
  const time = new Date(nowMs).toISOString().replace(/[:-]|\.\d{3}/g, '');
  const token = sessionToken === undefined ? {} : { 'x-amz-security-token': sessionToken.reveal() };
  const headers = { host: url.host, 'x-amz-content-sha256': sha256, 'x-amz-date': time, ...token };
  const signed = sign(
    { service: 's3', region, method, host: url.host, path: url.pathname + url.search, headers },
    { accessKeyId: accessKeyId.reveal(), secretAccessKey: secretAccessKey.reveal() },
  );
  return { ...headers, authorization: String(signed.headers?.['Authorization']) };
}
