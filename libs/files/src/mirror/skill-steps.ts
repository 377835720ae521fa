import { basename, dirname } from 'node:path';
import type { MirrorStep, SkillsMount } from '@caribou/core';
import { LocalTree } from '../plane/local/local-tree.js';
import { modifiedMsOf, type Stamp } from '../plane/local/stamps.js';
import { emptySighting, walkTree } from '../plane/local/tree-walk.js';
import { depthOf } from '../plane/tree/tree-nodes.js';
import { readSteps } from './read-steps.js';

/** What the paths of skills begin with. */
export const SKILLS_DIRECTORY = 'skills';
/** Commands may read and run skills. */
const READ_AND_RUN = 0o555;

/** The files of a user's skills as steps, with modes that let nobody write. @throws {TooLargeError} for more than a tree may have */
export async function* skillSteps({ directory }: SkillsMount): AsyncGenerator<MirrorStep, void, undefined> {
  const local = new LocalTree(dirname(directory));
  const top = basename(directory);
  try {
    const sighting = emptySighting();
    await walkTree(local, sighting, [top]);
    // The directory itself is a mount point at the other side.
    sighting.found.delete(top);
    const found = [...sighting.found].sort(([left], [right]) => depthOf(left) - depthOf(right));
    let bytes = 0;
    for (const [path, stamp] of found) {
      const name = SKILLS_DIRECTORY + path.slice(top.length);
      if (stamp.kind === 'file') bytes += stamp.size;
      yield* entrySteps(local, { path, name, stamp });
    }
    yield { kind: 'end', entries: found.length, bytes, skipped: 0 };
  } finally {
    local.close();
  }
}

async function* entrySteps(
  local: LocalTree,
  { path, name, stamp }: { readonly path: string; readonly name: string; readonly stamp: Stamp },
): AsyncGenerator<MirrorStep, void, undefined> {
  const mode = stamp.mode & READ_AND_RUN;
  if (stamp.kind === 'directory') yield { kind: 'directory', path: name, mode };
  else if (stamp.kind === 'file') {
    const { size } = stamp;
    yield { kind: 'file', path: name, mode, size, modifiedMs: modifiedMsOf(stamp) };
    const sha256 = yield* readSteps(local, path, size);
    yield { kind: 'fileEnd', sha256: sha256 ?? null };
  } else if (stamp.kind === 'link') {
    const target = local.linkTarget(path);
    if (target !== undefined) yield { kind: 'link', path: name, target };
  }
}
