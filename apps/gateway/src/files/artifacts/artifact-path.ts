import { BadRequestError, ForbiddenError } from '@caribou/contracts';
import { DATA_DIRECTORIES, parseVirtualPath, VIRTUAL_ROOT } from '@caribou/core';

/**
 * The virtual path in the last part of an artifact's URL, which the router has decoded once.
 *
 * @throws {ForbiddenError} for a path with `..`
 * @throws {BadRequestError} for a path outside the directories of the thread, or a malformed one
 */
export function artifactPath(rest: string): string {
  const path = `/${rest.replace(/^\/+/, '')}`;
  if (path.split(/[/\\]/).includes('..')) throw new ForbiddenError("the path must not contain '..'");
  if (path !== VIRTUAL_ROOT && !path.startsWith(`${VIRTUAL_ROOT}/`)) {
    throw new BadRequestError(`Path must start with ${VIRTUAL_ROOT}`);
  }
  if (parseVirtualPath(path) === null) {
    throw new BadRequestError(`the path must be in ${DATA_DIRECTORIES.join(', ')} and have no control characters`);
  }
  return path;
}
