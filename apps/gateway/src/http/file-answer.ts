import { BadRequestError, ForbiddenError, NotFoundError, TooLargeError } from '@caribou/contracts';
import { type FileRefusal, FileRefusedError, QuotaExceededError } from '@caribou/files';

const answers: Readonly<Record<FileRefusal, (path: string) => Error>> = {
  not_found: (path) => new NotFoundError(`there is no file ${path}`),
  is_directory: (path) => new BadRequestError(`${path} is a directory`),
  not_regular: (path) => new ForbiddenError(`${path} is not a regular file`),
  permission: (path) => new ForbiddenError(`access to ${path} is denied`),
  outside: (path) => new BadRequestError(`${path} is outside the files of the thread`),
  binary: (path) => new BadRequestError(`${path} is a binary file`),
  too_large: (path) => new TooLargeError(`${path} is too large`),
  no_space: () => new TooLargeError('there is no space left for files'),
};

/** Runs `act` and turns a refused file operation into the AppError that names `path`. */
export async function mapFileRefusals<T>(path: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof QuotaExceededError) throw new TooLargeError(error.message, { cause: error });
    if (error instanceof FileRefusedError) throw answers[error.reason](path);
    throw error;
  }
}
