import { TooLargeError } from '@caribou/contracts';
import { type Logger, type ObjectBody } from '@caribou/core';
import { openChecked, type Pieces, sizeOf } from '../common/checked-body.js';
import { StoreFailure } from '../common/store-failure.js';
import { parseValue, understood } from './list-page.js';
import type { S3Client } from './s3-client.js';
import { sentBytes } from './sent-bytes.js';
import { escapeXml, parseXml } from './xml.js';

/** Parts of an upload that S3 accepts. */
const MAX_PARTS = 10_000;
const MAX_ANSWER_BYTES = 64 * 1024;

export interface UploadPorts {
  readonly client: S3Client;
  readonly partBytes: number;
  readonly logger: Logger;
}

export interface Upload {
  readonly key: string;
  readonly fullKey: string;
  readonly body: ObjectBody;
  readonly signal: AbortSignal;
}

/**
 * Stores a large object in parts. Each part is held in memory until it is stored, with the next one being read meanwhile, so that one
 * that fails is sent again without reading the body again. The object appears when all parts are there and have the right checksum;
 * an upload that fails is removed from the store.
 *
 * @throws {ConflictError} when the body is not what it says
 * @throws {TooLargeError} for a body of more than 10,000 parts
 */
export async function uploadInParts(upload: Upload, ports: UploadPorts): Promise<void> {
  const limitBytes = MAX_PARTS * ports.partBytes;
  const size = sizeOf(upload.body);
  if (size > limitBytes)
    throw new TooLargeError(`object ${upload.key}: ${size} bytes, the store takes ${limitBytes}`, {
      details: { limitBytes },
    });
  const uploadId = await begin(upload, ports);
  const failed = new AbortController();
  try {
    const signal = AbortSignal.any([upload.signal, failed.signal]);
    const etags = await sendParts({ ...upload, signal }, uploadId, ports);
    await complete(upload, { uploadId, etags }, ports);
  } catch (error) {
    // A part that arrives after the upload was removed would stay.
    failed.abort(error);
    await abortUpload({ fullKey: upload.fullKey, uploadId }, undefined, ports.client).catch((cause: unknown) => {
      ports.logger.warn({ event: 'objects.leftover', error: cause }, 'the parts of a failed upload were not removed');
    });
    throw error;
  }
}

function begin({ fullKey, signal }: Upload, { client }: UploadPorts): Promise<string> {
  return client.text(
    { method: 'POST', fullKey, query: { uploads: '' } },
    {
      signal,
      maxBytes: MAX_ANSWER_BYTES,
      parse: (text) => parseValue(text, 'InitiateMultipartUploadResult', 'UploadId'),
    },
  );
}

async function sendParts(upload: Upload, uploadId: string, ports: UploadPorts): Promise<string[]> {
  const sent: Promise<string>[] = [];
  for await (const part of partsOf(openChecked(upload.key, upload.body), ports.partBytes)) {
    // One part is sent while the next one is read.
    await sent.at(-1);
    const sending = sendPart(part, { upload, uploadId, number: sent.length + 1 }, ports);
    // Its error is thrown where it is awaited; until then nobody listens.
    sending.catch(() => undefined);
    sent.push(sending);
  }
  return Promise.all(sent);
}

interface PartOfUpload {
  readonly upload: Upload;
  readonly uploadId: string;
  /** From 1. */
  readonly number: number;
}

async function sendPart(
  part: Buffer,
  { upload, uploadId, number }: PartOfUpload,
  { client }: UploadPorts,
): Promise<string> {
  const query = { partNumber: String(number), uploadId };
  return client.text(
    { method: 'PUT', fullKey: upload.fullKey, query, body: await sentBytes(part) },
    {
      signal: upload.signal,
      bytes: part.length,
      maxBytes: MAX_ANSWER_BYTES,
      parse: (_, { etag = '' }) => {
        if (etag === '') throw new StoreFailure('protocol', 'a part of an upload was stored without an ETag');
        return etag;
      },
    },
  );
}

async function complete(
  upload: Upload,
  { uploadId, etags }: { readonly uploadId: string; readonly etags: readonly string[] },
  { client }: UploadPorts,
): Promise<void> {
  const { fullKey, signal, body } = upload;
  const parts = etags.map(
    (etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escapeXml(etag)}</ETag></Part>`,
  );
  const xml = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`);
  const outcome = await client.text<'stored' | 'gone'>(
    {
      method: 'POST',
      fullKey,
      query: { uploadId },
      headers: { 'content-type': 'application/xml' },
      body: await sentBytes(xml),
    },
    {
      signal,
      bytes: sizeOf(body),
      maxBytes: MAX_ANSWER_BYTES,
      parse: (text) => {
        const { name } = understood(() => parseXml(text, ['CompleteMultipartUploadResult', 'Error']));
        // The store answers 200 before it is done, and says in the body when it fails.
        if (name === 'Error')
          throw new StoreFailure('failed', 'an upload could not be completed', { isRepeated: true });
        return 'stored';
      },
      accept: ({ code }) => (code === 'NoSuchUpload' ? 'gone' : undefined),
    },
  );
  if (outcome === 'gone') await requireStored(upload, client);
}

/** An upload that is not there was completed by a request whose answer was lost, or removed. @throws {StoreFailure} in that case */
async function requireStored({ fullKey, signal, body }: Upload, client: S3Client): Promise<void> {
  const length = await client.text<string | undefined>(
    { method: 'HEAD', fullKey },
    {
      signal,
      maxBytes: 0,
      parse: (_, headers) => headers['content-length'],
      accept: ({ status }) => (status === 404 ? '' : undefined),
    },
  );
  if (length !== String(sizeOf(body)))
    throw new StoreFailure('failed', 'an upload was removed before it was completed');
}

/** Removes the parts of an upload. @throws {StoreFailure} */
export async function abortUpload(
  { fullKey, uploadId }: { readonly fullKey: string; readonly uploadId: string },
  signal: AbortSignal | undefined,
  client: S3Client,
): Promise<void> {
  await client.text<unknown>(
    { method: 'DELETE', fullKey, query: { uploadId } },
    {
      signal,
      maxBytes: MAX_ANSWER_BYTES,
      parse: () => undefined,
      accept: ({ code }) => (code === 'NoSuchUpload' ? true : undefined),
    },
  );
}

/** The bytes in parts of one size, the last of which may be smaller. */
async function* partsOf(pieces: Pieces, partBytes: number): AsyncGenerator<Buffer, void> {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    for (let at = 0; at < piece.byteLength; ) {
      const taken = piece.subarray(at, at + partBytes - bytes);
      waiting.push(taken);
      bytes += taken.byteLength;
      at += taken.byteLength;
      if (bytes < partBytes) continue;
      yield Buffer.concat(waiting);
      waiting = [];
      bytes = 0;
    }
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}
