import type { Part } from '../bench.js';
import { type Budget, say } from '../report.js';
import { conversionShares } from './conversion-shares.js';
import { extractionShares } from './extraction-shares.js';
import { runShares } from './run-shares.js';
import { taskShares } from './task-shares.js';
import { BUSY_USERS, type WorkShares } from './users.js';

/**
 * What a user with little work waits while others have much: a run each second beside one user with a thousand that wait, one in three
 * seconds beside ten of them; then a task, an extraction and a conversion at a time beside ten users.
 */
export const fairness: Part = async ({ times }) => {
  const budgets: Budget[] = [];
  for (const [others, turns, everyMs] of [
    [1, 60, 1_000],
    [BUSY_USERS, 20, 3_000],
  ] as const) {
    const shares = await runShares({ waiting: times(1_000), others, turns: times(turns), everyMs });
    budgets.push(...sayShares('runs', others, shares));
  }
  budgets.push(...sayShares('tasks', BUSY_USERS, await taskShares(times(8))));
  budgets.push(...sayShares('extractions', BUSY_USERS, await extractionShares(times(40))));
  budgets.push(...sayShares('conversions', BUSY_USERS, await conversionShares(times(8))));
  return budgets;
};

function sayShares(kind: string, others: number, { waiting, waitMs, shareMs, waits }: WorkShares): readonly Budget[] {
  const [p50, p99, share] = [waitMs.p50, waitMs.p99, shareMs].map((ms) => ms.toFixed(0));
  say();
  say(
    `A user with one at a time, while ${waiting} ${kind} of ${others === 1 ? 'another one' : `${others} others`} wait: ${waits} waits`,
  );
  say(`wait p50 ${p50} ms, p99 ${p99} ms; a slot for each user free in ${share} ms`);
  const what = `p99 wait of the user with few ${kind}, beside ${others === 1 ? 'one other' : `${others} others`}`;
  return [{ what, value: waitMs.p99 / shareMs, unit: '× his share', atMost: 2 }];
}
