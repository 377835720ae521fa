import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** An empty folder for the tests of a file, removed after them; call it outside of hooks and tests. `root`: where it is made. */
export function temporaryFolder(root = tmpdir()): string {
  const folder = mkdtempSync(join(root, 'caribou-test-'));
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  });
  return folder;
}
