import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultRunDirectory, readRunDirectory } from './run-directory.js';

describe('readRunDirectory', () => {
  test('is CARIBOU_RUN_DIR, a relative one from the working directory', () => {
    expect(readRunDirectory({ env: { CARIBOU_RUN_DIR: '/srv/run' }, cwd: '/srv/app' })).toBe('/srv/run');
    expect(readRunDirectory({ env: { CARIBOU_RUN_DIR: 'run' }, cwd: '/srv/app' })).toBe('/srv/app/run');
  });

  test('has a default when the variable is missing or empty', () => {
    const unset = readRunDirectory({ env: {}, cwd: '/srv/app' });

    expect(readRunDirectory({ env: { CARIBOU_RUN_DIR: ' ' }, cwd: '/srv/app' })).toBe(unset);
    expect(unset).toBe(defaultRunDirectory(process.getuid?.() ?? 0));
  });
});

describe('defaultRunDirectory', () => {
  const folder = mkdtempSync(join(tmpdir(), 'caribou-run-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  test('is below the system directory for root, where that can be written', () => {
    expect(defaultRunDirectory(0, folder)).toBe(join(folder, 'caribou'));
    expect(defaultRunDirectory(0, join(folder, 'missing'))).toBe(join(tmpdir(), 'caribou-0'));
  });

  test('is a directory of the user among the temporary files for everyone else', () => {
    expect(defaultRunDirectory(1000, folder)).toBe(join(tmpdir(), 'caribou-1000'));
  });
});
