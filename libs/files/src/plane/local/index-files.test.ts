import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandIdentity } from '@caribou/core';
import type { CopyEntry, CopyIndex } from './copy-index.js';
import { IndexFiles } from './index-files.js';

const thread = { userId: 'alice', threadId: 't1' };
let home: string;
let file: string;
let files: IndexFiles;
const open = (): IndexFiles => new IndexFiles(home, commandIdentity());

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'caribou-index-'));
  const folder = join(home, 'users/alice/threads/t1');
  mkdirSync(folder, { recursive: true });
  file = join(folder, 'copy/index');
  files = open();
  await files.prepare(thread);
});
afterEach(() => rmSync(home, { recursive: true }));

const entry = (n: number): CopyEntry => ({
  node: {
    kind: 'file',
    mode: 0o640,
    size: n,
    modifiedMs: 1_700_000_000_123,
    sha256: `${n}`.padStart(64, '0'),
    content: { object: `packs/alice/${n % 3}`, offset: n },
  },
  stamp: { kind: 'file', ino: n, mode: 0o640, size: n, mtimeMs: 1_700_000_000_123.25, ctimeMs: 1_700_000_000_124.5 },
});
const link: CopyEntry = {
  node: { kind: 'link', target: '\xff\n' },
  stamp: { kind: 'link', ino: 9, mode: 0, size: 0, mtimeMs: 1, ctimeMs: 2 },
};
const state = { home: 'h', generation: 3, trees: { work: 'trees/alice/1' }, clockMs: 5.5 };
const plain = (index: CopyIndex | undefined) => index && { ...index, entries: new Map(index.entries) };

describe('IndexFiles', () => {
  test('what one process has written another reads, record by record', () => {
    files.append(thread, { state, set: new Map([['workspace/\xff', link]]), underWay: new Set(['a']) });
    files.append(thread, { set: new Map([['workspace/1', entry(1)]]), dirty: new Set(['workspace/1']) });
    const other = open();
    expect(other.load(thread)).toEqual(files.load(thread));
    other.append(thread, { removed: ['workspace/\xff'], underWay: new Set() });
    expect(plain(files.load(thread))).toEqual({
      state,
      entries: new Map([['workspace/1', entry(1)]]),
      dirty: new Set(['workspace/1']),
      underWay: new Set(),
    });
  });

  test('a record that was cut is left out, and what is added later is not lost with it', () => {
    files.append(thread, { state });
    files.append(thread, { set: new Map([['workspace/1', entry(1)]]) });
    files.append(thread, { set: new Map([['workspace/2', entry(2)]]) });
    truncateSync(file, statSync(file).size - 5);
    const other = open();
    expect([...(other.load(thread)?.entries.keys() ?? [])]).toEqual(['workspace/1']);
    other.append(thread, { set: new Map([['workspace/3', entry(3)]]) });
    expect([...(open().load(thread)?.entries.keys() ?? [])]).toEqual(['workspace/1', 'workspace/3']);
  });

  test('an index that is damaged from its beginning, empty or missing is none', () => {
    expect(files.load(thread)).toBeUndefined();
    files.append(thread, { state });
    const text = readFileSync(file, 'utf8');
    for (const damaged of ['', 'x', text.replace('"generation":3', '"generation":4'), text.slice(0, -2), 'null\n']) {
      writeFileSync(file, damaged);
      expect(open().load(thread)).toBeUndefined();
    }
    appendFileSync(file, 'more');
    files.append(thread, { state });
    expect(open().load(thread)?.state).toEqual(state);
  });

  test('the file stays small, however many changes there are', () => {
    const set = new Map(Array.from({ length: 500 }, (_, n) => [`workspace/${n}`, entry(n)]));
    for (let round = 0; round < 40; round += 1) files.append(thread, { state, set });
    const whole = statSync(file).size;
    files.write(thread, files.load(thread) ?? { state, entries: new Map(), dirty: new Set(), underWay: new Set() });
    expect(whole).toBeLessThan(statSync(file).size + 300 * 1024);
    expect(open().load(thread)?.entries.size).toBe(500);
  });

  test('the clock of the file system never runs backwards between two readings', () => {
    const readings = Array.from({ length: 50 }, () => files.readClock(thread).clockMs);
    expect([...readings].sort((left, right) => left - right)).toEqual(readings);
    expect(files.usedMs(thread)).toBe(readings.at(-1));
    expect(files.usedMs({ ...thread, threadId: 'other' })).toBeUndefined();
  });
});
