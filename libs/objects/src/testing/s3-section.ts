import { s3Access } from '@caribou/testing';

/** The section of a store at an endpoint of a test. */
export const s3Section = (endpoint: string, more: Readonly<Record<string, unknown>> = {}): unknown => ({
  s3: {
    endpoint,
    bucket: s3Access.bucket,
    access_key_id: s3Access.accessKeyId,
    secret_access_key: s3Access.secretAccessKey,
    prefix: 'files',
    multipart_bytes: 5 * 1024 * 1024,
    part_bytes: 5 * 1024 * 1024,
    ...more,
  },
});
