import { startFleet } from '../fleet.js';
import { inParallel, inTurn } from '../sample.js';
import { delegateTasks } from '../parts/task-dispatch.js';
import { apiKeys, BUSY_USERS, busyUser, keyOf, QUIET_USER, workShares, type WorkShares } from './users.js';

const SLOTS = 4;
const PER_ANSWER = 4;
/** How long the model takes for each task. */
const WORK_MS = 200;

/**
 * A user who hands over one task after the other, while ten others have handed over four in each of their runs.
 *
 * @param runs of each of the ten
 */
export async function taskShares(runs: number): Promise<WorkShares> {
  const fleet = await startFleet({ config: `subagents:\n  slots: ${SLOTS}\n`, env: { CARIBOU_API_KEYS: apiKeys() } });
  const delegate = (user: string, tasks: number) =>
    delegateTasks(fleet.apiUrl, { tasks, workMs: WORK_MS, key: keyOf(user) });
  try {
    await inTurn(5, () => delegate(QUIET_USER, 1));
    const beganMs = performance.now();
    const waits: number[] = [];
    let ended = 0;
    let left = runs * BUSY_USERS;
    const busy = inParallel(left, left, async (index) => {
      await delegate(busyUser(index % BUSY_USERS), PER_ANSWER);
      ended += PER_ANSWER;
      left -= 1;
    });
    // As long as each of the others has more than its share.
    while (left > 2 * BUSY_USERS) {
      waits.push((await delegate(QUIET_USER, 1)).startedMs);
      ended += 1;
    }
    await busy;
    return workShares(runs * BUSY_USERS * PER_ANSWER, waits, { ended, elapsedMs: performance.now() - beganMs });
  } finally {
    await fleet.stop();
  }
}
