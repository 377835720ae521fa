import type { Companion, FileVersion, ThreadKey } from '@caribou/core';
import type { FileEntry, StagedFile, UserFiles } from '@caribou/files';
import { freeName } from './safe-name.js';

/** Maximum number of files that are listed in a directory. */
const MAX_LISTED = 1_000;
/** Maximum number of names that are tried while others create files in the same directory. */
const MAX_TRIES = 20;

/** Whether a file is unchanged since it was listed. */
export const isSameVersion = (one: FileVersion, other: FileVersion): boolean =>
  one.sizeBytes === other.sizeBytes && one.modifiedMs === other.modifiedMs;

/** The uploads of a thread by name. */
export async function listUploadsByName(files: UserFiles, thread: ThreadKey): Promise<ReadonlyMap<string, FileEntry>> {
  const listed = await files.list(thread, 'uploads', MAX_LISTED);
  return new Map(listed.files.map((entry) => [entry.name, entry]));
}

const markdownName = (filename: string): string => `${filename.slice(0, filename.lastIndexOf('.'))}.md`;

export interface MarkdownSource {
  readonly thread: ThreadKey;
  /** Name of the document. */
  readonly filename: string;
}

/**
 * Publishes a received file next to the document as `<stem>.md`, or under the next free name: no file is ever replaced.
 * `announce` is called with each name before it is tried and returns false to abort.
 */
export async function publishMarkdown(
  files: UserFiles,
  { thread, filename }: MarkdownSource,
  { staged, announce }: { staged: StagedFile; announce: (companion: Companion) => Promise<boolean> },
): Promise<Companion | null> {
  const taken = new Set((await listUploadsByName(files, thread)).keys());
  for (let attempt = 0; attempt < MAX_TRIES; attempt += 1) {
    const name = freeName(markdownName(filename), taken);
    if (name === null) return null;
    const companion = { name, sizeBytes: staged.sizeBytes, modifiedMs: staged.modifiedMs };
    if (!(await announce(companion))) return null;
    if ((await staged.publishNew(name)) !== null) return companion;
    taken.add(name);
  }
  return null;
}
