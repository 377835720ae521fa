import { S3_BUCKET, type S3Access } from '@caribou/testing';

/** The section of a store at an endpoint of a test. */
export const s3Section = (
  endpoint: string,
  { accessKeyId, secretAccessKey }: S3Access,
  more: Readonly<Record<string, unknown>> = {},
): unknown => ({
  s3: {
    endpoint,
    bucket: S3_BUCKET,
    access_key_id: accessKeyId,
    secret_access_key: secretAccessKey,
    prefix: 'files',
    multipart_bytes: 5 * 1024 * 1024,
    part_bytes: 5 * 1024 * 1024,
    ...more,
  },
});
