import { BadRequestException, ForbiddenException } from '@nestjs/common';
import { DATA_DIRECTORIES, parseVirtualPath, VIRTUAL_ROOT } from '@caribou/core';

/**
 * The virtual path that the rest of an artifact's URL names, decoded once by the router.
 *
 * @throws {ForbiddenException} for a path that climbs
 * @throws {BadRequestException} for a path outside the thread's directories, or that is none
 */
export function artifactPath(rest: string): string {
  const path = `/${rest.replace(/^\/+/, '')}`;
  if (path.split(/[/\\]/).includes('..')) throw new ForbiddenException('the path may not climb');
  if (path !== VIRTUAL_ROOT && !path.startsWith(`${VIRTUAL_ROOT}/`)) {
    throw new BadRequestException(`Path must start with ${VIRTUAL_ROOT}`);
  }
  if (parseVirtualPath(path) === null) {
    throw new BadRequestException(`the path must lie in ${DATA_DIRECTORIES.join(', ')}, without control characters`);
  }
  return path;
}
