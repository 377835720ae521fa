import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, loadConfig } from '../index.js';
import { useConfigFolders } from './config-folders.js';

/** The environment of the recorded configuration. */
export const DEERFLOW_ENV = { VLLM_API_KEY: 'key-1', VLLM_BASE_URL: 'http://127.0.0.1:9/v1' };

export interface DeerflowFolder {
  readonly folder: string;
  /** Loads the text as config.yaml of the folder. */
  load(yaml: string, env?: Readonly<Record<string, string>>): Config;
}

/** Gives each test of the file a folder of its own. */
export function useDeerflowFolder(receive: (opened: DeerflowFolder) => void): void {
  const newFolder = useConfigFolders();

  beforeEach(() => {
    const folder = newFolder();
    receive({
      folder,
      load: (yaml, env = {}) => {
        writeFileSync(join(folder, 'config.yaml'), yaml);
        return loadConfig({ ...DEERFLOW_ENV, ...env }, folder);
      },
    });
  });
}
