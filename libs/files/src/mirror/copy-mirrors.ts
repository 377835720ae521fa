import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { UnavailableError } from '@caribou/contracts';
import {
  closedDirectoryOf,
  commandIdentity,
  type CopyMirror,
  type CopyMirrors,
  errnoOf,
  type ThreadKey,
} from '@caribou/core';
import { openDirectory } from '../descriptor-walk.js';
import { emptyDirectory } from '../empty-directory.js';
import { userDataOf } from '../plane/copies/open-copy.js';
import { MAX_NODES } from '../plane/tree/tree-nodes.js';
import { threadFiles } from '../thread-files.js';
import { threadNames } from '../thread-path.js';
import { LocalMirror } from './local-mirror.js';
import { skillSteps } from './skill-steps.js';

/** The directory of a thread's folder that has files on their way from sandboxes. No sandbox can reach it. */
const FOLDER = 'mirror';

export interface CopyMirrorOptions {
  /** Most bytes that one exchange may bring into a copy. */
  readonly maxBytes: number;
  /** Largest file that is exchanged. */
  readonly maxFileBytes: number;
}

/** How this machine's copies of threads' files, below `homeDir`, are exchanged with sandboxes that have files of their own. */
export const copyMirrors = (homeDir: string, options: CopyMirrorOptions): CopyMirrors => ({
  open: (thread) => openMirror(homeDir, thread, options),
  skills: skillSteps,
});

async function openMirror(
  homeDir: string,
  thread: ThreadKey,
  { maxBytes, maxFileBytes }: CopyMirrorOptions,
): Promise<CopyMirror> {
  const files = threadFiles(homeDir, commandIdentity());
  try {
    // Commands run elsewhere: the copy belongs to the one user that this machine has for them.
    await files.prepare(thread, process.getuid?.() === 0 ? commandIdentity() : undefined);
    const owner = await files.ownerOf(thread);
    const folder = join(homeDir, ...threadNames(thread), FOLDER);
    // What an earlier mirror of the thread has left: one sandbox at a time has a thread.
    await emptyDirectory(folder, new AbortController().signal);
    const name = randomUUID();
    const made = await openDirectory(homeDir, [...threadNames(thread), FOLDER, name], closedDirectoryOf(owner));
    await made.close();
    return new LocalMirror({
      userData: userDataOf(homeDir, thread),
      staging: join(folder, name),
      owner,
      bounds: { entries: 2 * MAX_NODES, bytes: maxBytes, fileBytes: maxFileBytes },
      isAlone: false,
    });
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    throw new UnavailableError(`the files of the thread cannot be opened for its sandbox (${errno})`, {
      cause: error,
      details: { dependency: 'disk' },
    });
  }
}
