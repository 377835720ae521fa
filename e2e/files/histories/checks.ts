import type { FileDiffReply, FilePageReply } from '@caribou/contracts';
import { allFiles, checksumsOf, type Files, pick, type Point, type ThreadModel } from './model.js';
import type { HistorySystem } from './system.js';

const ROOT = '/mnt/user-data/';
const USER = 'default';

/** Files of a working copy against the model. */
export function checkSeen(seen: Files, point: Point): void {
  expect(checksumsOf(seen)).toEqual(checksumsOf(allFiles(point)));
}

async function checkList(system: HistorySystem, { threadId }: ThreadModel, query: string, point: Point): Promise<void> {
  const { status, body } = await system.ask<FilePageReply>('GET', `/${threadId}/files?limit=1000${query}`);
  expect({ status, query }).toEqual({ status: 200, query });
  const listed = body.files.map(({ path, sha256 }) => [path.replace(ROOT, ''), sha256] as const);
  expect(Object.fromEntries(listed)).toEqual(checksumsOf(allFiles(point)));
}

async function checkContent(system: HistorySystem, { threadId }: ThreadModel, query: string, file: [string, string]) {
  const { status, body } = await system.ask<string>('GET', `/${threadId}/files/content${ROOT}${file[0]}${query}`);
  expect([status, body === file[1]]).toEqual([200, true]);
}

/** The differences between two checkpoints. */
async function checkDiff(
  system: HistorySystem,
  model: ThreadModel,
  [from, to]: readonly [string, string],
): Promise<void> {
  const path = `/${model.threadId}/files/diff?from=${from}&to=${to}`;
  const { status, body } = await system.ask<FileDiffReply>('GET', path);
  expect(status).toBe(200);
  const [before, after] = [from, to].map((id) => allFiles(model.checkpoints.get(id) ?? model.now));
  if (before === undefined || after === undefined) throw new Error('no such checkpoints');
  const paths = [...new Set([...before.keys(), ...after.keys()])].sort();
  const differing = paths.filter((each) => before.get(each) !== after.get(each));
  expect(body.files.map((each) => each.path.replace(ROOT, '')).sort()).toEqual(differing);
}

/** Compares all ways of reading the files of a thread with the model: now, and at some of its checkpoints, chosen by a number. */
export async function checkThread(system: HistorySystem, model: ThreadModel, at: number): Promise<void> {
  await checkList(system, model, '', model.now);
  const present = [...allFiles(model.now)].filter(([, content]) => content !== '');
  const file = pick(present, at);
  if (file !== undefined) await checkContent(system, model, '', file);
  const ids = [...model.checkpoints.keys()];
  const chosen = [ids.at(-1), pick(ids, at), pick(ids, at * 7 + 3)].filter((id) => id !== undefined);
  for (const id of new Set(chosen)) {
    const point = model.checkpoints.get(id) ?? model.now;
    await checkList(system, model, `&checkpoint_id=${id}`, point);
    const then = pick(
      [...allFiles(point)].filter(([, content]) => content !== ''),
      at,
    );
    if (then !== undefined) await checkContent(system, model, `?checkpoint_id=${id}`, then);
  }
  const [one, , another] = chosen;
  if (one !== undefined && another !== undefined) await checkDiff(system, model, [another, one]);
  const thread = { userId: USER, threadId: model.threadId };
  await system.reader.hydrate(thread);
  checkSeen(system.reader.seen(thread), model.now);
}

/** A thread that was deleted has no files, nor has its id. */
export async function checkDeleted(system: HistorySystem, threadId: string): Promise<void> {
  expect((await system.ask('GET', `/${threadId}/files`)).status).toBe(404);
  expect(await system.generations.head({ userId: USER, threadId })).toBeNull();
}
