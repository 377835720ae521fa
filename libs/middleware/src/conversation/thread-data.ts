import type { ThreadData } from '@caribou/contracts';
import type { AgentMiddleware } from '@caribou/core';

/** The thread's directories as every sandbox mounts them. */
export const THREAD_DIRECTORIES: ThreadData = {
  workspace_path: '/mnt/user-data/workspace',
  uploads_path: '/mnt/user-data/uploads',
  outputs_path: '/mnt/user-data/outputs',
};

/**
 * Stores the directories of the thread's files for clients and later hooks. The paths are virtual: host paths differ
 * between machines and must not reach a client.
 */
export function threadData(): AgentMiddleware {
  return {
    name: 'thread-data',
    beforeAgent: (state) =>
      Promise.resolve(isCurrent(state.thread_data) ? undefined : { update: { thread_data: THREAD_DIRECTORIES } }),
  };
}

const isCurrent = (data: ThreadData | undefined): boolean =>
  data !== undefined &&
  data.workspace_path === THREAD_DIRECTORIES.workspace_path &&
  data.uploads_path === THREAD_DIRECTORIES.uploads_path &&
  data.outputs_path === THREAD_DIRECTORIES.outputs_path;
