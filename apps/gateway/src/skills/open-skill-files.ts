import type { Config } from '@caribou/config';
import { type Logger, type SkillStore, systemClock } from '@caribou/core';
import { objectTreeStore, type SkillFiles, skillFiles, SkillImports, storedSkillFiles } from '@caribou/files';
import { openObjectStore } from '@caribou/objects';

export interface SkillFilesPorts {
  readonly records: Pick<SkillStore, 'setManifest'>;
  readonly logger: Logger;
}

/** Lists of files of skills in memory: a gateway only writes them. */
const TREE_CACHE_BYTES = 1024 * 1024;

/** Where the files of installed skills are: in the object store of the section `files`, or else on the data volume. */
export function openSkillFiles({ files, homeDir, sandbox }: Config, { records, logger }: SkillFilesPorts): SkillFiles {
  const { minFreeBytes } = sandbox.limits;
  if (files === undefined) return skillFiles(homeDir, { minFreeBytes });
  const trees = objectTreeStore(openObjectStore(files.store, logger), { cacheBytes: TREE_CACHE_BYTES });
  const imports = new SkillImports({ homeDir, trees, records, clock: systemClock, logger });
  return storedSkillFiles({ homeDir, minFreeBytes, trees, imports });
}
