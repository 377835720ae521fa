import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import {
  parseSkillsPath,
  parseVirtualPath,
  SKILLS_ROOT,
  type SkillsMount,
  type ThreadKey,
  VIRTUAL_ROOT,
} from '@caribou/core';
import { below, openDirectory } from './descriptor-walk.js';
import { FileRefusedError } from './file-refused.js';
import { hostPathOf, requireRegular } from './thread-path.js';

/** A virtual path resolved to something that may be read: a file or directory of a thread, or of its user's skills. */
export interface ResolvedPath {
  /** Virtual path of the directory that the names lie below. */
  readonly root: string;
  readonly segments: readonly string[];
  /** Files may have several names: the platform laid them out, and no command can add one. */
  readonly mayBeLinked: boolean;
  readonly hostRoot: () => Promise<string>;
}

export interface ReadRoots {
  readonly homeDir: string;
  /** The skills that a user's sandboxes see; absent when skills are not served. */
  readonly skills?: (userId: string) => Promise<SkillsMount>;
}

/** @throws {FileRefusedError} `outside` */
export function resolvePath({ homeDir, skills }: ReadRoots, thread: ThreadKey, path: string): ResolvedPath {
  const names = skills === undefined ? null : parseSkillsPath(path);
  if (skills !== undefined && names !== null) {
    const hostRoot = async (): Promise<string> => (await skills(thread.userId)).directory;
    return { root: SKILLS_ROOT, segments: names, mayBeLinked: true, hostRoot };
  }
  const parsed = parseVirtualPath(path);
  if (parsed === null) throw new FileRefusedError('outside', path);
  const { directory, segments } = parsed;
  return {
    root: `${VIRTUAL_ROOT}/${directory}`,
    segments,
    mayBeLinked: false,
    hostRoot: () => Promise.resolve(hostPathOf(homeDir, thread, directory)),
  };
}

/** A readable descriptor of the regular file under the path. @throws {FileRefusedError}, or a system error */
export async function openResolved(
  { segments, mayBeLinked, hostRoot }: ResolvedPath,
  path: string,
): Promise<FileHandle> {
  const name = segments.at(-1);
  if (name === undefined) throw new FileRefusedError('is_directory', path);
  const parent = await openDirectory(await hostRoot(), segments.slice(0, -1));
  try {
    const handle = await open(below(parent, name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    return await requireRegular(handle, path, { mayBeLinked });
  } finally {
    await parent.close();
  }
}
