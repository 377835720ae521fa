import type { TreeStore } from '@caribou/core';
import { type SkillFiles, skillFiles } from './skill-files.js';
import type { SkillImports } from './skill-imports.js';
import { StagingDirectory } from './skill-staging.js';
import { storeSkill } from './skill-tree.js';

export interface StoredSkillFilesOptions {
  /** CARIBOU_HOME, for files that are being unpacked. */
  readonly homeDir: string;
  /** With less than this on the disk nothing is unpacked, in bytes. */
  readonly minFreeBytes: number;
  readonly trees: Pick<TreeStore, 'store' | 'write'>;
  readonly imports: Pick<SkillImports, 'start'>;
}

/**
 * The files of installed skills in an object store. A skill that is published has no reference yet: its record has to name the
 * manifest, and does so until the skill is removed.
 */
export function storedSkillFiles({ homeDir, minFreeBytes, trees, imports }: StoredSkillFilesOptions): SkillFiles {
  return {
    // What this machine has on its disk besides: skills of an earlier data volume, and copies.
    ...skillFiles(homeDir, { minFreeBytes }),
    openStaging: async (userId) => {
      const staging = await StagingDirectory.open(homeDir, userId, minFreeBytes);
      return {
        write: (segments, content, { isProgram }) => staging.write(segments, content, { isProgram }),
        publish: async () => ({ manifest: (await storeSkill(trees, userId, staging.path)).manifest }),
        close: () => staging.close(),
      };
    },
    importSkills: (userId, installed) => {
      for (const skill of installed) if (skill.manifest === undefined) imports.start(userId, skill);
    },
  };
}
