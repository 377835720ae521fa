import { join } from 'node:path';
import { omitUndefined } from '@caribou/contracts';
import type { z } from 'zod';
import { ConfigError } from '../common/config-error.js';
import { Secret } from '../common/secret.js';
import { type FilesFile, ObjectStoreFile } from '../schema/files-schema.js';

/** The most objects that S3 lists in one page. */
const MAX_PAGE_OBJECTS = 1_000;

export interface FolderStoreConfig {
  /** Absolute path; created when it is missing. */
  readonly path: string;
  readonly isDurable: boolean;
  /** Of one operation, in milliseconds, without the time to write a large object. */
  readonly timeoutMs: number;
}

export interface S3StoreConfig {
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

/** Which object store to open. */
export type ObjectStoreConfig =
  | { readonly kind: 'folder'; readonly folder: FolderStoreConfig }
  | { readonly kind: 's3'; readonly s3: S3StoreConfig };

/** The section `files`. */
export interface FilesConfig {
  readonly store: ObjectStoreConfig;
  readonly maxDirectBytes: number;
  readonly maxWaitMs: number;
  readonly machineWaitMs: number;
  readonly maxCopies: number;
}

export const toFiles = ({ store, ...section }: z.output<typeof FilesFile>, homeDir: string): FilesConfig => ({
  store: toObjectStore(store, homeDir),
  maxDirectBytes: section.max_direct_bytes,
  maxWaitMs: section.max_wait_ms,
  machineWaitMs: section.machine_wait_ms,
  maxCopies: section.max_copies,
});

/**
 * Checks the section `files.store`, whose references to variables have been resolved.
 *
 * @throws {ConfigError} with every fault, and no values
 */
export function objectStoreConfig(section: unknown, homeDir: string): ObjectStoreConfig {
  const parsed = ObjectStoreFile.safeParse(section ?? {});
  if (parsed.success) return toObjectStore(parsed.data, homeDir);
  throw new ConfigError(
    parsed.error.issues.map(({ path, message }) => `${['files.store', ...path].join('.')}: ${message}`),
  );
}

/** Without a path objects are in a folder below `homeDir`. */
function toObjectStore({ folder, s3 }: z.output<typeof ObjectStoreFile>, homeDir: string): ObjectStoreConfig {
  if (s3 !== undefined) return { kind: 's3', s3: toS3(s3) };
  const { path = join(homeDir, 'objects'), durable = true, timeout_ms: timeoutMs = 60_000 } = folder ?? {};
  return { kind: 'folder', folder: { path, isDurable: durable, timeoutMs } };
}

function toS3(file: NonNullable<z.output<typeof ObjectStoreFile>['s3']>): S3StoreConfig {
  const { region, prefix, session_token: token } = file;
  return {
    endpoint: file.endpoint ?? `https://s3.${region}.amazonaws.com`,
    region,
    bucket: file.bucket,
    prefix: prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`,
    addressing: file.addressing,
    accessKeyId: new Secret(file.access_key_id),
    secretAccessKey: new Secret(file.secret_access_key),
    ...omitUndefined({ sessionToken: token === undefined ? undefined : new Secret(token) }),
    connectTimeoutMs: file.connect_timeout_ms,
    silenceTimeoutMs: file.silence_timeout_ms,
    timeoutMs: file.timeout_ms,
    maxAttempts: file.max_attempts,
    maxRequests: file.max_requests,
    pageObjects: MAX_PAGE_OBJECTS,
    multipartBytes: file.multipart_bytes,
    partBytes: file.part_bytes,
  };
}
