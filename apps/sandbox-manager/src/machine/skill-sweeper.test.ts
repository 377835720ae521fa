import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UnavailableError } from '@caribou/contracts';
import { type Clock, silentLogger, systemClock, type UserSkills } from '@caribou/core';
import { waitFor } from '@caribou/testing';
import { createSkillSweeper } from './skill-sweeper.js';

let home: string;
beforeEach(() => (home = mkdtempSync(join(tmpdir(), 'caribou-sweeper-'))));
afterEach(() => rmSync(home, { recursive: true, force: true }));

const NONE: UserSkills = { states: new Map(), installed: [] };

test('copies of skills that are gone are removed, also after a sweep that Redis did not answer', async () => {
  const copy = join(home, 'users/u1/skills/fetched/gone');
  mkdirSync(copy, { recursive: true });
  utimesSync(copy, 0, 0);
  let reads = 0;
  let isThereAfterFailure = false;
  const warnings: unknown[] = [];
  const read = (): Promise<UserSkills> => {
    reads += 1;
    return reads === 1 ? Promise.reject(new UnavailableError('Redis is away')) : Promise.resolve(NONE);
  };
  const clock: Clock = {
    ...systemClock,
    sleep: (_ms, signal) => {
      if (reads === 1) isThereAfterFailure = existsSync(copy);
      return systemClock.sleep(reads === 1 ? 0 : 60_000, signal);
    },
  };
  const warn = (fields: object): void => void warnings.push(fields);
  const logger = { ...silentLogger, warn, error: warn };
  const sweeper = createSkillSweeper({ homeDir: home, store: { read }, everyMs: 1, clock, logger });
  sweeper.start();
  await waitFor(() => !existsSync(copy), { what: 'the removal of the copy' });
  await sweeper.stop();
  expect(isThereAfterFailure).toBe(true);
  expect(warnings).toEqual([expect.objectContaining({ event: 'skill.sweep', outcome: 'error' })]);
});
