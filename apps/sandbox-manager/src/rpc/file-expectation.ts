import type { FileExpectation } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { fileHash, FileRefusedError, MAX_TEXT_FILE_BYTES, sha256Of, type ThreadFiles } from '@caribou/files';

/**
 * Whether a file still has the content that the agent read. True for a file that does not exist, because a write then
 * loses nothing; false for a file that is too large to have been read. While the caller holds the path's lock, only
 * commands in the sandbox can change the file afterwards.
 *
 * @throws {FileRefusedError} when the path exists but cannot be opened as a file
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

/** Whether the content is what the agent expects; true when it stated no expectation. */
export const isExpectedContent = (content: Uint8Array, expected: FileExpectation | undefined): boolean =>
  expected === undefined || sha256Of(content) === expected.sha256;
