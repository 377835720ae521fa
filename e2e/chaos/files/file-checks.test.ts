import type { Message } from '@caribou/contracts';
import { ai, human } from '@caribou/testing';
import type { FileHistory, FileRead, FileTurn, RunHistory, ThreadHistory } from '../history.js';
import { fileFigures, fileViolations } from './file-checks.js';

const sum = (letter: string): string => letter.repeat(64);
const UPLOAD = 'uploads/u';
const CURRENT = 'workspace/current';

const run = (runId: string): RunHistory => ({
  ...{
    threadId: 't1',
    runId,
    kind: 'files',
    script: `script of ${runId}`,
    may: ['success'],
    acceptedAtMs: 1,
    segments: [],
  },
  ...{ stuck: false, attempts: 1, errors: [], status: 'success', replay: undefined },
});

const result = (...lines: readonly string[]): Message =>
  ({
    type: 'tool',
    content: lines.join('\n'),
    tool_call_id: 'c',
    status: 'success',
    name: 'bash',
  }) as unknown as Message;
const saw = (letter: string, path: string): string => `saw ${letter === 'none' ? letter : sum(letter)} ${path}`;
const made = (letter: string, path: string): string => `made ${letter === 'none' ? letter : sum(letter)} ${path}`;
const version = (path: string, letter?: string) => ({ path, sha256: letter === undefined ? undefined : sum(letter) });
const read = (path: string, letter: string | undefined, turns = 2): FileRead => ({
  ...version(path, letter),
  ...{ where: 'a gateway', turns },
});

/** Two turns: the first uploads `u` and makes version `a`, the second sees both and makes version `b`. */
const TURNS: readonly FileTurn[] = [
  { runId: 'r1', uploaded: [version(UPLOAD, 'e')], calls: [[version(CURRENT, 'a')]] },
  { runId: 'r2', uploaded: [], calls: [[version(CURRENT, 'b')]] },
];
const FIRST = result(saw('e', UPLOAD), made('a', CURRENT));
const SECOND = result(saw('e', UPLOAD), saw('a', CURRENT), made('b', CURRENT));
const UNKNOWN = result('The outcome of this call is not known');

interface Given {
  readonly first?: Message;
  readonly second?: Message;
  readonly files?: Partial<FileHistory>;
}
const threadOf = ({ first = FIRST, second = SECOND, files = {} }: Given): ThreadHistory => ({
  ...{ threadId: 't1', runs: [run('r1'), run('r2')], effects: [] },
  messages: [human('script of r1'), ai(''), first, ai('x'), human('script of r2'), ai(''), second, ai('x')],
  files: { turns: TURNS, reads: [], readAtEnd: [read(UPLOAD, 'e'), read(CURRENT, 'b')], ...files },
});
const found = (given: Given): readonly string[] => fileViolations(threadOf(given)).map(({ what }) => what);

describe('fileViolations', () => {
  test('finds nothing when each sees the newest, and in a thread without files', () => {
    expect(found({})).toEqual([]);
    const { files: _none, ...without } = threadOf({});
    expect(fileViolations(without)).toEqual([]);
  });

  test('what a call made whose outcome is not known may be there or not', () => {
    expect(found({ first: UNKNOWN })).toEqual([]);
    const unseen = result(saw('e', UPLOAD), saw('none', CURRENT), made('b', CURRENT));
    expect(found({ first: UNKNOWN, second: unseen })).toEqual([]);
    for (const left of ['a', 'b'])
      expect(found({ second: UNKNOWN, files: { readAtEnd: [read(CURRENT, left)] } })).toEqual([]);
    expect(found({ second: UNKNOWN, files: { readAtEnd: [read(CURRENT, undefined)] } })).toEqual([
      'workspace/current: missing: a gateway saw none, the newest is aaaaaaaa or bbbbbbbb',
    ]);
  });

  test('what was seen not to be there does not come later', () => {
    const unseen = result(saw('none', CURRENT));
    expect(found({ first: UNKNOWN, second: unseen, files: { readAtEnd: [read(CURRENT, 'a')] } })).toEqual([
      'workspace/current: old: a gateway saw aaaaaaaa, the newest is none or bbbbbbbb',
    ]);
    const both = { readAtEnd: [read(CURRENT, 'b'), read(CURRENT, 'a')] };
    expect(found({ second: UNKNOWN, files: both })).toEqual([
      'workspace/current: old: a gateway saw aaaaaaaa, the newest is bbbbbbbb',
    ]);
  });

  test.each<[string, Given, string]>([
    [
      'an upload that a command did not find',
      { second: result(saw('none', UPLOAD), made('b', CURRENT)), files: { readAtEnd: [] } },
      'uploads/u: missing: a command saw none, the newest is eeeeeeee',
    ],
    [
      'a file of a result that no command finds any more',
      { second: result(saw('none', CURRENT), made('b', CURRENT)) },
      'workspace/current: missing: a command saw none, the newest is aaaaaaaa',
    ],
    [
      'an old version at a gateway at the end',
      { files: { readAtEnd: [read(CURRENT, 'a')] } },
      'workspace/current: old: a gateway saw aaaaaaaa, the newest is bbbbbbbb',
    ],
    [
      'a content that nobody made',
      { files: { readAtEnd: [read(CURRENT, 'f')] } },
      'workspace/current: unknown: a gateway saw ffffffff, the newest is bbbbbbbb',
    ],
    [
      'a torn content during the work',
      { files: { reads: [read(CURRENT, 'f', 1)] } },
      'workspace/current: a gateway served a content that nobody made',
    ],
    [
      'an upload that a gateway does not serve right after it was accepted',
      { files: { reads: [read(UPLOAD, undefined, 1)], readAtEnd: [], turns: TURNS.slice(0, 1) } },
      'uploads/u: missing: a gateway saw none, the newest is eeeeeeee',
    ],
    [
      'a command that made another content than it was to make',
      { second: result(made('c', CURRENT)) },
      'workspace/current: the command that makes it reports cccccccc',
    ],
    [
      'a removed file that is there again',
      {
        second: result(made('none', CURRENT)),
        files: {
          readAtEnd: [read(CURRENT, 'a')],
          turns: [TURNS[0] as FileTurn, { runId: 'r2', uploaded: [], calls: [[version(CURRENT)]] }],
        },
      },
      'workspace/current: old: a gateway saw aaaaaaaa, the newest is none',
    ],
  ])('finds %s', (_name, given, what) => {
    expect(found(given)[0]).toBe(what);
  });

  test('an older version during the work is none, as its manager may not have been able to store the newest', () => {
    expect(found({ files: { reads: [read(CURRENT, undefined, 1), read(CURRENT, 'a')] } })).toEqual([]);
  });

  test('finds a result that gives files up, as no machine is lost', () => {
    const notice =
      '[files that were changed since 2026-01-01T00:00:00.000Z are missing: the machine that had them is gone]';
    const second = result(notice, saw('e', UPLOAD), saw('a', CURRENT), made('b', CURRENT));
    expect(found({ second })).toEqual(['a result says that files are missing, but no machine was lost']);
  });

  test('counts what was made and read', () => {
    const threads = [threadOf({})];
    expect(fileFigures({ threads }, { requests: 10, failures: 1 })).toEqual({
      ...{ versions: 3, readAtEnd: 2, storeRequests: 10, storeFailures: 1 },
    });
  });
});
