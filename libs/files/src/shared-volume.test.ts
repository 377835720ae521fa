import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UnavailableError } from '@caribou/contracts';
import { silentLogger, type VolumeRegistry } from '@caribou/core';
import { SharedVolume } from './shared-volume.js';

const homes: string[] = [];
const newHome = (): string => {
  const home = mkdtempSync(join(tmpdir(), 'caribou-volume-'));
  homes.push(home);
  return home;
};
afterAll(() => {
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

function registry(): VolumeRegistry & { isAway: boolean } {
  let used: string | undefined;
  return {
    isAway: false,
    agree(id) {
      if (this.isAway)
        return Promise.reject(new UnavailableError('Redis is away', { details: { dependency: 'redis' } }));
      used ??= id;
      return Promise.resolve(used);
    },
  };
}

describe(SharedVolume, () => {
  test('processes on one volume agree, whichever comes first', async () => {
    const [home, known] = [newHome(), registry()];
    await new SharedVolume(known, home).ensure();
    await new SharedVolume(known, home).ensure();
    expect(readdirSync(home)).toEqual(['volume-id']);
  });

  test('another volume is refused, with what to do', async () => {
    const known = registry();
    await new SharedVolume(known, newHome()).ensure();
    const other = new SharedVolume(known, newHome());
    await expect(other.ensure()).rejects.toThrow(/mount one volume on all machines/);
    await expect(other.checkAtStart(silentLogger)).rejects.toThrow(UnavailableError);
  });

  test('a registry that is away does not hinder the start, and is asked again', async () => {
    const known = registry();
    await new SharedVolume(known, newHome()).ensure();
    const other = new SharedVolume(known, newHome());
    known.isAway = true;
    await other.checkAtStart(silentLogger);
    known.isAway = false;
    await expect(other.ensure()).rejects.toThrow(/files of threads lie on/);
  });

  test('a home that is not there is made when files are needed, not before', async () => {
    const home = join(newHome(), 'inner');
    const volume = new SharedVolume(registry(), home);
    await volume.checkAtStart(silentLogger);
    expect(existsSync(home)).toBe(false);
    await volume.ensure();
    expect(existsSync(join(home, 'volume-id'))).toBe(true);
  });
});
