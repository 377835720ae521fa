import type { ConversionRecord } from '@caribou/core';
import type { FileEntry } from '@caribou/files';
import { isSameVersion } from './converted-markdown.js';

/** How far the conversion of a file is, as far as it still speaks of the files that are there. */
export type DocumentState =
  | { readonly status: 'pending' }
  | { readonly status: 'failed'; readonly reason: string }
  | { readonly status: 'done'; readonly companion: string }
  /** Another file has the name of its Markdown. */
  | { readonly status: 'outdated' };

/** Undefined for a file of which nothing is known, that has changed since, or whose Markdown was removed. */
export function documentState(
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
