import { TooLargeError } from '@caribou/contracts';
import { type FileRefusal, FileRefusedError, QuotaExceededError } from '@caribou/sandbox';
import { BadRequestException, ForbiddenException, NotFoundException } from '@nestjs/common';

const answers: Readonly<Record<FileRefusal, (path: string) => Error>> = {
  not_found: (path) => new NotFoundException(`${path} is not there`),
  is_directory: (path) => new BadRequestException(`${path} is a directory`),
  not_regular: (path) => new ForbiddenException(`${path} is no plain file`),
  permission: (path) => new ForbiddenException(`${path} may not be touched`),
  outside: (path) => new BadRequestException(`${path} is outside the thread's files`),
  binary: (path) => new BadRequestException(`${path} is a binary file`),
  too_large: (path) => new TooLargeError(`${path} is too large`),
  no_space: () => new TooLargeError('no space is left for files'),
};

/** Runs `act`; what it may not have becomes the HTTP answer that names `path`. */
export async function answeringRefusals<T>(path: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof QuotaExceededError) throw new TooLargeError(error.message, { cause: error });
    if (error instanceof FileRefusedError) throw answers[error.reason](path);
    throw error;
  }
}
