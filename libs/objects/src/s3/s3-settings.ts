import type { Secret } from '@caribou/config';

export interface S3Settings {
  /** http or https, without credentials and query; its path, if any, comes before the bucket. */
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  /** Empty, or a key's beginning that ends with `/`. */
  readonly prefix: string;
  /** Where the bucket's name is in the URL. */
  readonly addressing: 'path' | 'virtual-host';
  readonly accessKeyId: Secret;
  readonly secretAccessKey: Secret;
  readonly sessionToken?: Secret;
  /** For the connection alone, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** Without any byte to or from the store while it should send or take some, in milliseconds. */
  readonly silenceTimeoutMs: number;
  /** Of one operation with all its attempts, in milliseconds, without the time to move a large object. */
  readonly timeoutMs: number;
  readonly maxAttempts: number;
  /** Requests at the same time. */
  readonly maxRequests: number;
  /** Objects of one page of a list; a store gives at most 1,000. */
  readonly pageObjects: number;
  /** Objects above this size are uploaded in parts, in bytes. */
  readonly multipartBytes: number;
  /** Size of a part; two are held in memory by each upload. */
  readonly partBytes: number;
}
