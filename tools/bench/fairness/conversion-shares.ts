import { type Fleet, startFleet } from '../fleet.js';
import { inParallel, inTurn, median } from '../sample.js';
import { until } from '../parts/until.js';
import { apiKeys, BUSY_USERS, busyUser, keyOf, QUIET_USER, workShares, type WorkShares } from './users.js';

/** Uploads of the user with few, before the others begin and while their documents wait. */
const QUIET_UPLOADS = 8;
const TIMEOUT_MS = 60_000;
const DOCUMENT = Array.from({ length: 200 }, (_, row) => `${row},name ${row},${row * 7}`).join('\n');

/**
 * A user who uploads one document after the other, while ten others have uploaded many.
 *
 * @param documents of each of the ten
 */
export async function conversionShares(documents: number): Promise<WorkShares> {
  const fleet = await startFleet({ env: { CARIBOU_API_KEYS: apiKeys() } });
  const waiting = documents * BUSY_USERS;
  try {
    const alone = await inTurn(QUIET_UPLOADS, () => convert(fleet, QUIET_USER));
    const beganMs = performance.now();
    let ended = 0;
    let posted = 0;
    const busy = inParallel(waiting, waiting, async (index) => {
      const conversion = convert(fleet, busyUser(index % BUSY_USERS));
      posted += 1;
      await conversion;
      ended += 1;
    });
    await until(() => posted === waiting && ended > 0, 'the first conversion');
    const ms = await inTurn(QUIET_UPLOADS, () => convert(fleet, QUIET_USER));
    const shares = { ended: ended + ms.length, elapsedMs: performance.now() - beganMs };
    await busy;
    return workShares(
      waiting,
      ms.map((each) => Math.max(0, each - median(alone))),
      shares,
    );
  } finally {
    await fleet.stop();
  }
}

/** Uploads a document to a new thread; how long it takes until its Markdown is there, in milliseconds. */
async function convert({ apiUrl }: Fleet, user: string): Promise<number> {
  const url = `${new URL(apiUrl).origin}/api/threads/${crypto.randomUUID()}/uploads`;
  const form = new FormData();
  form.append('files', new Blob([DOCUMENT]), 'table.csv');
  const beganMs = performance.now();
  const answer = await request(url, user, { method: 'POST', body: form });
  if (!answer.includes('"done"'))
    await until(async () => (await request(`${url}/list`, user)).includes('"done"'), 'the Markdown of a document');
  return performance.now() - beganMs;
}

/** @throws Error for a status other than 2xx */
async function request(url: string, user: string, init: RequestInit = {}): Promise<string> {
  const headers = { 'x-api-key': keyOf(user) };
  const response = await fetch(url, { ...init, headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text.slice(0, 200)}`);
  return text;
}
