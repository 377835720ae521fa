import type { FileExpectation } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { fileHash, FileRefusedError, MAX_TEXT_FILE_BYTES, sha256Of, type ThreadFiles } from '@caribou/files';

/**
 * Whether a file is what it is taken to be; one that is not there always is, as nothing of it can be lost. Holds until
 * the path's lock is given back, but for what commands do in the sandbox meanwhile. A file too large to be read was not
 * read.
 *
 * @throws {FileRefusedError} for what is no file that can be had
 */
export async function isAsExpected(
  files: ThreadFiles,
  file: { readonly thread: ThreadKey; readonly path: string },
  expected: FileExpectation,
): Promise<boolean> {
  try {
    const handle = await files.openFile(file.thread, file.path);
    try {
      return expected.sha256 !== null && (await fileHash(handle, MAX_TEXT_FILE_BYTES)) === expected.sha256;
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof FileRefusedError && error.reason === 'not_found') return true;
    throw error;
  }
}

/** Whether content that has been read is what the file is taken to be. */
export const isExpectedContent = (content: Uint8Array, expected: FileExpectation | undefined): boolean =>
  expected === undefined || sha256Of(content) === expected.sha256;
