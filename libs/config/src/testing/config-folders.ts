import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@caribou/testing';
import { ConfigError } from '../index.js';

/**
 * Makes folders, with a config.yaml when its text is given, that are removed after the tests of the file. Call it outside
 * of hooks and tests.
 */
export function useConfigFolders(): (yaml?: string) => string {
  const parent = temporaryFolder();
  return (yaml) => {
    const folder = mkdtempSync(join(parent, 'config-'));
    if (yaml !== undefined) writeFileSync(join(folder, 'config.yaml'), yaml);
    return folder;
  };
}

/** The key that a fault or a warning names. */
export const keyOf = (line: string): string => line.slice(0, line.indexOf(': '));

/** The faults with which `load` fails. @throws Error when it does not fail */
export function faultsOf(load: () => unknown): readonly string[] {
  try {
    load();
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  throw new Error('the configuration was loaded');
}
