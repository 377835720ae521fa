import type { ConversionRecord } from '@caribou/core';
import type { FileEntry } from '@caribou/files';
import { isSameVersion } from './converted-markdown.js';

/** The state of a file's conversion, given the files that exist now. */
export type DocumentState =
  | { readonly status: 'pending' }
  | { readonly status: 'failed'; readonly reason: string }
  | { readonly status: 'done'; readonly companion: string }
  /** Another file has replaced the Markdown. */
  | { readonly status: 'outdated' };

/**
 * The state of a file's conversion; undefined without a record, when the file has changed, or its Markdown was removed.
 */
export function toDocumentState(
  file: FileEntry,
  record: ConversionRecord | undefined,
  others: ReadonlyMap<string, FileEntry>,
): DocumentState | undefined {
  if (record === undefined || !isSameVersion(record.source, file)) return undefined;
  if (record.status === 'pending') return { status: 'pending' };
  if (record.status === 'failed') return { status: 'failed', reason: record.reason };
  const companion = others.get(record.companion.name);
  if (companion === undefined) return undefined;
  return isSameVersion(companion, record.companion)
    ? { status: 'done', companion: companion.name }
    : { status: 'outdated' };
}
