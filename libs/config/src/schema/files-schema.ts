import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { integer, ms as duration } from './kinds/setting-kinds.js';

const MEBIBYTE = 1024 * 1024;
/** The least size of all parts but the last that S3 accepts. */
const MIN_PART_BYTES = 5 * MEBIBYTE;
const MAX_PART_BYTES = 512 * MEBIBYTE;
/** The largest object that S3 accepts in one request, in bytes. */
const MAX_SINGLE_BYTES = 5 * 1024 * MEBIBYTE;
const MAX_PREFIX_CHARS = 200;

const whole = (fallback: number, min: number, max: number) => z.int().min(min).max(max).default(fallback);
const ms = (fallback: number) => whole(fallback, 1, 3_600_000);

const FolderFile = z
  .strictObject({
    path: z
      .string()
      .refine(isAbsolute, 'must be an absolute path')
      .optional()
      .describe('Absolute path; unset: objects below CARIBOU_HOME'),
    durable: z
      .boolean()
      .default(true)
      .describe(
        'Wait until an object is on the disk; false may lose objects that were reported as stored at a power cut',
      ),
    timeout_ms: ms(60_000).describe('Longest operation, without the time to write a large object'),
  })
  .describe('A folder of this machine, or of a disk that all machines share');

const S3File = z
  .strictObject({
    endpoint: z
      .url({ protocol: /^https?$/ })
      .refine(isPlainUrl, 'must have no user, password, query or fragment')
      .optional()
      .describe("The store's address; unset: that of Amazon S3 in the region"),
    region: z
      .string()
      .regex(/^[a-z0-9-]{1,64}$/, 'must consist of a-z, 0-9 and "-"')
      .default('us-east-1')
      .describe('Part of the signature of requests'),
    bucket: z
      .string()
      .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket: 3 to 63 of a-z, 0-9, "." and "-"')
      .describe('It must exist'),
    prefix: z
      .string()
      .max(MAX_PREFIX_CHARS)
      .regex(
        /^([A-Za-z0-9_-][A-Za-z0-9_.-]*(\/|$))*$/,
        'must be a path like "caribou/files", without "/" at its beginning',
      )
      .default('')
      .describe('What all keys begin with'),
    addressing: z
      .enum(['path', 'virtual-host'])
      .default('path')
      .describe('Where the name of the bucket is: in the path of URLs or in their host name'),
    access_key_id: z.string().min(1).describe('Such as $S3_ACCESS_KEY_ID'),
    secret_access_key: z.string().min(1).describe('Such as $S3_SECRET_ACCESS_KEY'),
    session_token: z.string().min(1).optional().describe('Of temporary keys, which are not renewed'),
    connect_timeout_ms: ms(5_000).describe('Longest wait for a connection'),
    silence_timeout_ms: ms(30_000).describe('Longest wait for the next bytes'),
    timeout_ms: ms(60_000).describe('Longest operation with all attempts, without the time to move a large object'),
    max_attempts: whole(5, 1, 20).describe('Attempts of one request'),
    max_requests: whole(64, 1, 1_000).describe('Requests of one process at the same time'),
    multipart_bytes: whole(64 * MEBIBYTE, MIN_PART_BYTES, MAX_SINGLE_BYTES).describe(
      'Larger objects are uploaded in parts',
    ),
    part_bytes: whole(16 * MEBIBYTE, MIN_PART_BYTES, MAX_PART_BYTES).describe(
      'Size of a part; an upload needs memory for two',
    ),
  })
  .describe('A bucket of a store that speaks S3');

export const ObjectStoreFile = z
  .strictObject({ folder: FolderFile.optional(), s3: S3File.optional() })
  .refine(({ folder, s3 }) => folder === undefined || s3 === undefined, 'must have folder or s3, not both');

export const FilesFile = z
  .strictObject({
    store: ObjectStoreFile.default({}).describe('The object store in which the files of threads lie: folder or s3'),
    max_direct_bytes: integer(8 * MEBIBYTE, 0, 1024 * MEBIBYTE).describe(
      'A call of a tool waits until what it changed is stored, up to this many bytes; more is stored in the background',
    ),
    max_wait_ms: duration(20_000, 600_000).describe('How long such a call waits for a store that does not answer'),
    machine_wait_ms: duration(30_000, 600_000).describe(
      'How long a thread waits for the machine that has changes which are not stored, before they are given up',
    ),
    max_copies: integer(10_000, 10, 1_000_000).describe(
      'Threads whose files a machine has copies of; those unused for longest are removed, and more when the disk is full',
    ),
  })
  .describe('Files of threads in an object store (docs/files.md); unset: on a data volume that all machines share');

function isPlainUrl(text: string): boolean {
  const { username, password, search, hash } = new URL(text);
  return username === '' && password === '' && search === '' && hash === '';
}
