import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { UserId } from '@caribou/contracts';
import { unless } from '../empty-directory.js';
import { isDirectory, skillDirectory } from './skill-directories.js';
import { removeOld } from './skill-files.js';
import { UNUSED_VIEW_MS } from './skill-views.js';

export interface SkillSweepOptions {
  /** CARIBOU_HOME. */
  readonly homeDir: string;
  /** The ids of all skills that a user has installed, enabled or not. */
  readonly idsOf: (userId: string) => Promise<ReadonlySet<string>>;
  readonly signal: AbortSignal;
}

/**
 * Removes what this machine does not need of the skills of any user: stagings of processes that died, fetched copies of skills that
 * are gone, and views that nobody has used for hours. Only what can be made again is removed, and nothing that is new. Stops early
 * at the signal.
 *
 * @throws what `idsOf` throws
 */
export async function sweepSkills({ homeDir, idsOf, signal }: SkillSweepOptions): Promise<void> {
  const users = await unless('ENOENT', opendir(join(homeDir, 'users')));
  if (users === undefined) return;
  for await (const { name } of users) {
    if (signal.aborted) return;
    if (!UserId.safeParse(name).success || !(await isDirectory(join(homeDir, 'users', name, 'skills')))) continue;
    await removeOld(skillDirectory(homeDir, name, 'staging'), new Set());
    await removeOld(skillDirectory(homeDir, name, 'views'), new Set(), UNUSED_VIEW_MS);
    const fetched = skillDirectory(homeDir, name, 'fetched');
    if (await isDirectory(fetched)) await removeOld(fetched, await idsOf(name));
  }
}
