import { ConflictError } from '@caribou/contracts';
import type { ConversionLease, ConversionStore, PendingConversion, UploadKey } from '@caribou/core';
import type { DocumentConverter } from '@caribou/documents';
import type { UserFiles } from '@caribou/files';
import { isSameVersion, publishMarkdown, listUploadsByName } from './converted-markdown.js';
import { uploadPath } from './upload-json.js';

export type DocumentKind = Parameters<DocumentConverter['toMarkdown']>[1]['kind'];

export interface ConversionPorts {
  readonly files: UserFiles;
  readonly store: ConversionStore;
  readonly converter: DocumentConverter;
}

/** One attempt to convert a document, by the holder of its lease. */
export interface ConversionJob {
  readonly file: UploadKey;
  readonly kind: DocumentKind;
  readonly lease: ConversionLease;
  readonly record: PendingConversion;
  readonly signal: AbortSignal;
}

/** Maximum size of the Markdown; the converter truncates longer text. */
const MAX_MARKDOWN_BYTES = 16 * 1024 * 1024;

/**
 * Converts one document and publishes the Markdown, unless the lease is lost.
 *
 * @throws AppError with the reason of a failure
 */
export async function convertUpload(ports: ConversionPorts, job: ConversionJob): Promise<void> {
  if (await adoptPublished(ports, job)) return;
  await publish(ports, job, await markdownOf(ports, job));
}

/**
 * Completes the record if an earlier holder of the lease has already published the Markdown; returns whether it had.
 */
async function adoptPublished(
  { files, store }: ConversionPorts,
  { file, lease, record }: ConversionJob,
): Promise<boolean> {
  const { companion, source } = record;
  if (companion === undefined) return false;
  const there = (await listUploadsByName(files, file)).get(companion.name);
  if (there === undefined || !isSameVersion(there, companion)) return false;
  await store.settle(file, lease.token, { status: 'done', source, companion });
  return true;
}

async function markdownOf({ files, converter }: ConversionPorts, job: ConversionJob): Promise<string> {
  const { file, kind, record, signal } = job;
  const document = await files.open(file, uploadPath(file.filename));
  try {
    const { size, modifiedMs } = document;
    if (!isSameVersion({ sizeBytes: size, modifiedMs }, record.source)) {
      throw new ConflictError('the file was changed before it was converted');
    }
    return await converter.toMarkdown(document.stream({ start: 0, end: size - 1 }), {
      kind,
      signal,
      owner: file.userId,
    });
  } finally {
    await document.close();
  }
}

async function* toChunks(text: string): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(Buffer.from(text));
}

async function publish({ files, store }: ConversionPorts, job: ConversionJob, markdown: string): Promise<void> {
  const { file, lease, record } = job;
  const intake = await files.openIntake(file, { makes: false });
  try {
    const staged = await intake.receive(toChunks(markdown), MAX_MARKDOWN_BYTES);
    let held = true;
    const announce = async (companion: { name: string; sizeBytes: number; modifiedMs: number }) => {
      held = await store.renew(file, lease, { ...record, companion });
      return held;
    };
    const document = { thread: file, filename: file.filename };
    const companion = await publishMarkdown(files, document, { staged, announce });
    if (!held) return;
    if (companion === null) throw new ConflictError('no name is free for the Markdown');
    const done = { status: 'done', source: record.source, companion } as const;
    if (!(await store.settle(file, lease.token, done))) await files.removeUnchanged(file, 'uploads', companion);
  } finally {
    await intake.close();
  }
}
