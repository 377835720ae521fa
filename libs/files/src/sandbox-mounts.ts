import { commandIdentity, type DataDirectory, type SandboxMounts } from '@caribou/core';
import { prepareHome } from './data-home.js';
import type { ReadRoots } from './resolved-path.js';
import { threadFiles } from './thread-files.js';

/** The directories of the data volume at `homeDir` that sandboxes mount, and those of their users' skills, if any. */
export function sandboxMounts(homeDir: string, skills?: ReadRoots['skills']): SandboxMounts {
  const files = threadFiles(homeDir, commandIdentity());
  return {
    prepareHome: () => prepareHome(homeDir),
    prepareData: (thread, owner) => files.prepare(thread, owner),
    ownerOf: (thread) => files.ownerOf(thread),
    dataOf: async (thread) => {
      const path = async (directory: DataDirectory): Promise<string> => {
        const opened = await files.openDataDirectory(thread, directory);
        await opened.close();
        return files.hostPath(thread, directory);
      };
      return {
        workspace: await path('workspace'),
        uploads: await path('uploads'),
        outputs: await path('outputs'),
      };
    },
    skillsOf: async (userId) => skills?.(userId),
  };
}
