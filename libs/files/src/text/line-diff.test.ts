import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { diffLines } from './line-diff.js';

describe(diffLines, () => {
  test('equal texts have none', () => {
    expect(diffLines('a\nb', 'a\nb')).toEqual({ hunks: '', additions: 0, deletions: 0 });
  });

  test('shows changed lines with three around them, and joins hunks that meet', () => {
    const lines = Array.from({ length: 20 }, (_, at) => `${at + 1}\n`);
    const changed = lines.map((line) => (line === '2\n' || line === '9\n' || line === '18\n' ? `new ${line}` : line));
    const { hunks, additions, deletions } = diffLines(lines.join(''), changed.join(''));
    expect([additions, deletions]).toEqual([3, 3]);
    expect(hunks.split('\n').filter((line) => line.startsWith('@@'))).toEqual([
      '@@ -1,12 +1,12 @@',
      '@@ -15,6 +15,6 @@',
    ]);
    expect(hunks).toContain(' 1\n-2\n+new 2\n 3\n');
  });

  test.each([
    ['', 'a', '@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n'],
    ['a\nb\n', '', '@@ -1,2 +0,0 @@\n-a\n-b\n'],
    ['a', 'a\n', '@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n'],
  ])('%j to %j', (before, after, hunks) => {
    expect(diffLines(before, after).hunks).toBe(hunks);
  });

  test('texts with more changes than are searched for differ as a whole between the first and the last', () => {
    const numbered = (word: string): string =>
      `first\n${Array.from({ length: 1_000 }, (_, at) => `${word} ${at}\n`).join('')}last\n`;
    const { hunks, additions, deletions } = diffLines(numbered('a'), numbered('b'));
    expect([additions, deletions]).toEqual([1_000, 1_000]);
    expect(hunks.startsWith('@@ -1,1002 +1,1002 @@\n first\n-a 0\n')).toBe(true);
  });

  const line = fc.constantFrom('a', 'b', 'c', '');
  const text = fc.tuple(fc.array(line, { maxLength: 30 }), fc.boolean()).map(([all, ends]) => {
    const joined = all.join('\n');
    return ends && joined !== '' ? `${joined}\n` : joined;
  });

  test('is as small as that of the longest common part', () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const { additions, deletions } = diffLines(before, after);
        const [left, right] = [before, after].map((all) => all.match(/[^\n]*\n|[^\n]+$/g) ?? []);
        expect(deletions).toBe((left ?? []).length - commonLength(left ?? [], right ?? []));
        expect(additions).toBe((right ?? []).length - commonLength(left ?? [], right ?? []));
      }),
    );
  });

  test('patch makes the one text out of the other', () => {
    const folder = mkdtempSync(join(tmpdir(), 'caribou-diff-'));
    try {
      fc.assert(
        fc.property(text, text, (before, after) => {
          const { hunks } = diffLines(before, after);
          if (hunks === '' || before === '' || after === '') return;
          writeFileSync(join(folder, 'file'), before);
          writeFileSync(join(folder, 'diff'), `--- a/file\n+++ b/file\n${hunks}`);
          execFileSync('git', ['apply', '--whitespace=nowarn', 'diff'], { cwd: folder });
          expect(readFileSync(join(folder, 'file'), 'utf8')).toBe(after);
        }),
        { numRuns: 25 },
      );
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

function commonLength(left: readonly string[], right: readonly string[]): number {
  let above: number[] = Array.from({ length: right.length + 1 }, () => 0);
  for (const one of left) {
    const row = [0];
    right.forEach((other, at) => {
      row.push(one === other ? (above[at] ?? 0) + 1 : Math.max(above[at + 1] ?? 0, row[at] ?? 0));
    });
    above = row;
  }
  return above.at(-1) ?? 0;
}
