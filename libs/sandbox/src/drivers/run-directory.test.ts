import { chmodSync, chownSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { closedDirectoryOf, commandIdentity } from '@caribou/core';
import { temporaryFolder } from '@caribou/testing';
import { prepareRunDirectory } from './run-directory.js';

const folder = temporaryFolder();
const isRoot = process.getuid?.() === 0;
const closedMode = closedDirectoryOf(commandIdentity()).mode;
const modeOf = (path: string): number => statSync(path).mode & 0o7777;

let count = 0;
const newPath = (): string => join(folder, `run-${(count += 1)}`);

describe('prepareRunDirectory', () => {
  test('makes both directories, closed to others, however often and however long their path is', () => {
    const path = join(newPath(), 'long-name-'.repeat(20), 'abc');

    prepareRunDirectory(path);
    prepareRunDirectory(path);

    expect([modeOf(path), modeOf(join(path, '..'))]).toEqual([closedMode, closedMode]);
  });

  test('closes a directory that was left open, and leaves the mode of the one above to the operator', () => {
    const above = newPath();
    mkdirSync(join(above, 'abc'), { recursive: true });
    chmodSync(above, 0o755);
    chmodSync(join(above, 'abc'), 0o755);

    prepareRunDirectory(join(above, 'abc'));

    expect([modeOf(join(above, 'abc')), modeOf(above)]).toEqual([closedMode, 0o755]);
  });

  test('takes a directory for everyone only where nobody can replace what others have made', () => {
    const [shared, open] = [newPath(), newPath()];
    for (const path of [shared, open]) mkdirSync(path);
    chmodSync(shared, 0o1777);
    chmodSync(open, 0o777);

    expect(() => prepareRunDirectory(join(shared, 'abc'))).not.toThrow();
    expect(() => prepareRunDirectory(join(open, 'abc'))).toThrow(/^CARIBOU_RUN_DIR: .*other users may write to it/);
  });

  test('refuses a link, a file, and what it cannot make, by the name of the variable', () => {
    const [above, file] = [newPath(), newPath()];
    mkdirSync(above);
    symlinkSync(folder, join(above, 'abc'));
    writeFileSync(file, '');

    expect(() => prepareRunDirectory(join(above, 'abc'))).toThrow(/^CARIBOU_RUN_DIR: .*it is no directory/);
    expect(() => prepareRunDirectory(join(file, 'abc'))).toThrow(/^CARIBOU_RUN_DIR: .*(EEXIST|ENOTDIR)/);
  });

  (isRoot ? test : test.skip)('refuses a directory of another user, who could have made it before', () => {
    const above = newPath();
    mkdirSync(above);
    chownSync(above, 23_456, 23_456);

    expect(() => prepareRunDirectory(join(above, 'abc'))).toThrow(/it belongs to the user 23456/);
  });
});
