import { randomUUID } from 'node:crypto';
import {
  BadRequestError,
  ConflictError,
  MAX_EDITED_BYTES,
  PreconditionFailedError,
  TooLargeError,
  UnsupportedMediaTypeError,
} from '@caribou/contracts';
import { type ThreadKey, VIRTUAL_ROOT } from '@caribou/core';
import { type Locks } from '@caribou/state';
import { FileRefusedError, sha256Of, type UserFiles } from '@caribou/files';
import { Injectable } from '@nestjs/common';
import { mapFileRefusals } from '../../http/file-answer.js';
import { Dependency } from '../../dependency.js';
import { archivePath } from './archive-entry.js';

const OUTPUTS_ROOT = `${VIRTUAL_ROOT}/outputs`;
/**
 * Duration of a file's lock: longer than an edit takes. When a gateway dies during one, the file is locked for this
 * time.
 */
const LOCK_MS = 15_000;

export interface EditedArtifact {
  readonly path: string;
  readonly sha256: string;
  /** Bytes. */
  readonly size: number;
}

/** Edits of text files by users. A lock in the store allows one edit of a file at a time over all gateways. */
@Injectable()
export class ArtifactEdits {
  constructor(
    @Dependency('userFiles') private readonly files: Pick<UserFiles, 'replaceText'>,
    @Dependency('locks') private readonly locks: Locks,
  ) {}

  /**
   * @throws {PreconditionFailedError} when the file has changed since the user read it
   * @throws {ConflictError} during another edit of the file
   * @throws {TooLargeError} {BadRequestError} {UnsupportedMediaTypeError} for anything but a text file among the outputs
   */
  async edit(
    thread: ThreadKey,
    path: string,
    edit: { content: string; expected_sha256: string },
  ): Promise<EditedArtifact> {
    if (!path.startsWith(`${OUTPUTS_ROOT}/`))
      throw new BadRequestError(`${path} is not in ${OUTPUTS_ROOT}; only files there can be edited`);
    if (archivePath(path) !== null)
      throw new UnsupportedMediaTypeError(`${path} is inside an archive; only files outside archives can be edited`);
    const content = Buffer.from(edit.content);
    if (content.byteLength > MAX_EDITED_BYTES)
      throw new TooLargeError(`content: must be at most ${MAX_EDITED_BYTES} bytes of UTF-8`);
    const replacement = { content, expectedSha256: edit.expected_sha256, maxBytes: MAX_EDITED_BYTES };
    const replaced = await this.withLock(thread, path, () => this.replace(thread, path, replacement));
    if (!replaced) throw new PreconditionFailedError(`${path} has changed since it was read`);
    return { path, sha256: sha256Of(content), size: content.byteLength };
  }

  private async withLock<T>({ userId, threadId }: ThreadKey, path: string, act: () => Promise<T>): Promise<T> {
    const name = `artifact/${userId}/${threadId}${path}`;
    const owner = randomUUID();
    if (!(await this.locks.acquire(name, owner, LOCK_MS)))
      throw new ConflictError(`${path} is being edited; try again`);
    try {
      return await act();
    } finally {
      await this.locks.release(name, owner);
    }
  }

  private replace(
    thread: ThreadKey,
    path: string,
    replacement: Parameters<UserFiles['replaceText']>[2],
  ): Promise<boolean> {
    return mapFileRefusals(path, async () => {
      try {
        return await this.files.replaceText(thread, path, replacement);
      } catch (error) {
        if (error instanceof FileRefusedError && (error.reason === 'binary' || error.reason === 'not_regular'))
          throw new UnsupportedMediaTypeError(
            error.reason === 'binary'
              ? `${path} is a binary file; only UTF-8 text can be edited`
              : `${path} is not a regular file`,
          );
        throw error;
      }
    });
  }
}
