import type { FileVersion } from '../history.js';
import type { FollowedFiles } from '../journal.js';
import type { PlannedTurn } from '../plan.js';
import type { Random } from '../random.js';
import { bash, start, type TurnTools } from '../turns.js';
import { rootOf, ROUTES, sha256, uploadFile, versionAt } from './file-requests.js';

const ROOT = '/mnt/user-data';
/** Replaced by every call, so that a read shows which version it got. */
const CURRENT = 'workspace/current';
/** Made and removed by turns. */
const ONCE = 'workspace/once';

/** A path below the directories of a thread and its content: a line, repeated up to this number of bytes. */
interface MadeFile {
  readonly path: string;
  readonly line: string;
  readonly bytes: number;
}

/** From some bytes, which share an object, to more than a call may wait for. */
function sizeOf(random: Random): number {
  const most = random.weighted({ 3_000: 6, 200_000: 3, 900_000: 1 });
  return random.between(1, Number(most));
}

const contentOf = ({ line, bytes }: Omit<MadeFile, 'path'>): string =>
  `${line}\n`.repeat(Math.ceil(bytes / (line.length + 1))).slice(0, bytes);

const versionOf = (file: MadeFile): FileVersion => ({ path: file.path, sha256: sha256(contentOf(file)) });

/** All paths that the turns of a thread have worked with. */
export const pathsOf = ({ turns }: Pick<FollowedFiles, 'turns'>): readonly string[] => [
  ...new Set(turns.flatMap(({ uploaded, calls }) => [...uploaded, ...calls.flat()]).map(({ path }) => path)),
];

const SAW =
  'saw() { for f; do if [ -f "$f" ]; then echo "saw $(sha256sum < "$f" | cut -c 1-64) $f"; else echo "saw none $f"; fi; done; }';
const MADE = SAW.replaceAll('saw', 'made');

/** Reports the files that are known, makes others, and reports these. */
function commandOf(seen: readonly string[], made: readonly MadeFile[], removed: readonly string[]): string {
  const reported = [...made.map(({ path }) => path), ...removed];
  return [
    `cd ${ROOT}; ${SAW}; ${MADE}`,
    ...(seen.length > 0 ? [`saw ${seen.join(' ')}`] : []),
    ...made.map(
      ({ path, line, bytes }) => `mkdir -p $(dirname ${path}) && yes '${line}' | head -c ${bytes} > ${path} || exit 1`,
    ),
    ...(removed.length > 0 ? [`rm -f ${removed.join(' ')} || exit 1`] : []),
    `made ${reported.join(' ')}`,
  ].join('; ');
}

/**
 * A turn that works with files: an upload, a run with two calls that report the files of all turns before them and make others, and
 * reads at gateways.
 */
export async function workWithFiles(threadId: string, turn: PlannedTurn, tools: TurnTools): Promise<void> {
  const { word, kind } = turn;
  const { client, journal, random } = tools;
  const files = journal.filesOf(threadId);
  const make = (path: string, line: string): MadeFile => ({ path, line: `${word} ${line}`, bytes: sizeOf(random) });

  const sent = make(`uploads/${word}.in`, 'sent');
  await uploadFile(threadId, { name: `${word}.in`, content: contentOf(sent) }, client);
  const followed: FollowedFiles['turns'][number] = { runId: undefined, uploaded: [versionOf(sent)], calls: [] };
  const before = [...pathsOf(files), sent.path];
  const first = [make(`outputs/${word}.out`, 'out'), make(`workspace/d/${word}/deep`, 'deep'), make(CURRENT, 'first')];
  const second = [make(CURRENT, 'second'), ...(random.chance(0.5) ? [make(ONCE, 'once')] : [])];
  const removed = second.length > 1 ? [] : [ONCE];
  const calls = [
    first.map(versionOf),
    [...second.map(versionOf), ...removed.map((path) => ({ path, sha256: undefined }))],
  ];
  files.turns.push(followed);
  const script = [
    word,
    bash(commandOf(before, first, [])),
    bash(commandOf([...new Set([...before, ...first.map(({ path }) => path)])], second, removed)),
    '#say Done with files.',
  ].join('\n');
  const run = await start(threadId, { kind, script }, tools);
  if (typeof run === 'string') return journal.refused(kind, threadId, run);
  files.turns[files.turns.indexOf(followed)] = { ...followed, runId: run.runId, calls };
  await client.follow(run);
  await readSome(threadId, [sent.path, CURRENT, `outputs/${word}.out`], tools);
}

async function readSome(threadId: string, paths: readonly string[], tools: TurnTools): Promise<void> {
  const { client, journal, random } = tools;
  const files = journal.filesOf(threadId);
  const turns = files.turns.length;
  for (const path of paths) {
    const route = random.pick(ROUTES);
    const read = await client.ask(`the file ${path}`, async (api) => ({
      ...(await versionAt(api, threadId, { path, route })),
      where: `${route} at ${rootOf(api)}`,
    }));
    files.reads.push({ ...read, turns });
  }
}
