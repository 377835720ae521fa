import { AppError, type ErrorCode } from '@caribou/contracts';
import { errnoOf } from '@caribou/core';

export type FileRefusal =
  | 'not_found'
  | 'is_directory'
  | 'not_regular'
  | 'permission'
  | 'outside'
  | 'binary'
  | 'too_large'
  | 'no_space';

const codes: Readonly<Record<FileRefusal, ErrorCode>> = {
  not_found: 'not_found',
  is_directory: 'invalid_request',
  not_regular: 'invalid_request',
  permission: 'forbidden',
  outside: 'invalid_request',
  binary: 'invalid_request',
  too_large: 'too_large',
  no_space: 'too_large',
};

const refusalTexts: Readonly<Record<FileRefusal, string>> = {
  not_found: 'no such file',
  is_directory: 'is a directory',
  not_regular: 'is not a regular file with a single name',
  permission: 'permission denied',
  outside: 'is outside the data directories',
  binary: 'is a binary file',
  too_large: 'is too large',
  no_space: 'no space left',
};

/** A file of the user cannot be read or written; `reason` is one of a closed list, for the model and for HTTP alike. */
export class FileRefusedError extends AppError {
  constructor(
    readonly reason: FileRefusal,
    path: string,
    cause?: unknown,
  ) {
    super(codes[reason], `${path}: ${refusalTexts[reason]}`, { details: { reason }, cause });
  }
}

/** The thread's files have reached their quota; the message names usage and limit. */
export class QuotaExceededError extends FileRefusedError {
  override readonly message: string;

  constructor(
    path: string,
    /** The text for the user or the model. */
    readonly excess: string,
  ) {
    super('no_space', path);
    this.message = `${path}: ${excess}`;
  }
}

const byErrno: Readonly<Record<string, FileRefusal>> = {
  ENOENT: 'not_found',
  ENOTDIR: 'not_regular',
  EISDIR: 'is_directory',
  ELOOP: 'not_regular',
  ENXIO: 'not_regular',
  ENODEV: 'not_regular',
  EACCES: 'permission',
  EPERM: 'permission',
  EROFS: 'permission',
  ENAMETOOLONG: 'outside',
  ENOSPC: 'no_space',
  EDQUOT: 'no_space',
  EFBIG: 'too_large',
};

/** Converts a failed system call to a refusal; an error of another kind is rethrown as it is. */
export function toFileRefused(error: unknown, path: string): FileRefusedError {
  if (error instanceof FileRefusedError) return error;
  const reason = byErrno[errnoOf(error) ?? ''];
  if (reason === undefined) throw error;
  return new FileRefusedError(reason, path, error);
}
