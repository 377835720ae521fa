import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@caribou/testing';
import { BwrapRecords } from './bwrap-records.js';

const folder = temporaryFolder();
const sandbox = { sandboxId: 'caribou-1', managerId: 'm1', userId: 'default', threadId: 't1' };

describe('BwrapRecords', () => {
  test('are written into the run directory, for the platform alone', () => {
    const [homeDir, runDir] = [join(folder, 'a/home'), join(folder, 'a/run')];
    const records = new BwrapRecords({ homeDir, runDir });

    records.write(sandbox, { pid: 1, startTicks: '2' });

    expect(records.read('caribou-1')).toEqual([{ ...sandbox, pid: 1, startTicks: '2' }]);
    expect(statSync(join(runDir, 'sandboxes')).mode & 0o777).toBe(0o700);
    expect(existsSync(homeDir)).toBe(false);
  });

  test('of an earlier version, in the home, are found and removed with those of this one', () => {
    const [homeDir, runDir] = [join(folder, 'b/home'), join(folder, 'b/run')];
    const records = new BwrapRecords({ homeDir, runDir });
    const earlier = { ...sandbox, managerId: 'm0', pid: 3, startTicks: '4' };
    mkdirSync(join(homeDir, 'sandboxes'), { recursive: true });
    writeFileSync(join(homeDir, 'sandboxes/caribou-1.json'), JSON.stringify(earlier));
    records.write(sandbox, { pid: 1, startTicks: '2' });
    expect(records.read('caribou-1').map(({ pid }) => pid)).toEqual([1, 3]);
    expect(records.list().map(({ managerId, instance }) => [managerId, instance])).toEqual([
      ['m1', '1:2'],
      ['m0', '3:4'],
    ]);

    records.remove('caribou-1', 3);

    expect(records.read('caribou-1').map(({ pid }) => pid)).toEqual([1]);
    expect(readdirSync(join(homeDir, 'sandboxes'))).toEqual([]);
  });
});
