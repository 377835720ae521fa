import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { type LineRange, readTextRange, type TextRange } from './text-range.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'caribou-text-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function rangeOf(content: string | Buffer, range: LineRange): Promise<TextRange> {
  writeFileSync(join(folder, 'file'), content);
  const handle = await open(join(folder, 'file'));
  try {
    return await readTextRange(handle, 'file', range);
  } finally {
    await handle.close();
  }
}

describe('readTextRange', () => {
  test('answers the lines asked for, both ends included', async () => {
    expect(await rangeOf('a\nb\nc\nd\n', { startLine: 2, endLine: 3, maxBytes: 100 })).toEqual({
      text: 'b\nc\n',
      totalBytes: 8,
      totalLines: 4,
      truncated: false,
      sha256: createHash('sha256').update('a\nb\nc\nd\n').digest('hex'),
    });
    expect(await rangeOf('a\nb', { startLine: 2, maxBytes: 100 })).toMatchObject({ text: 'b', totalLines: 2 });
    expect(await rangeOf('a\n', { startLine: 9, maxBytes: 100 })).toMatchObject({
      text: '',
      totalLines: 1,
      truncated: false,
    });
    expect(await rangeOf('', { maxBytes: 100 })).toMatchObject({
      text: '',
      totalBytes: 0,
      totalLines: 0,
      truncated: false,
    });
  });

  test('cuts at a whole character and says so', async () => {
    expect(await rangeOf('aé€😀', { maxBytes: 8 })).toMatchObject({ text: 'aé€', truncated: true });
  });

  test('refuses a file with a NUL byte as binary', async () => {
    await expect(rangeOf(Buffer.from([65, 0, 66]), { maxBytes: 10 })).rejects.toMatchObject({ reason: 'binary' });
  });

  test('agrees with splitting the whole text, over chunk borders', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.string({ maxLength: 40 }).map((line) => line.replace(/[\n\0]/g, '')),
          { maxLength: 30 },
        ),
        fc.nat(20),
        fc.nat(20),
        fc.nat(70_000),
        async (lines, first, more, padding) => {
          const all = [...lines, 'x'.repeat(padding)].map((line) => `${line}\n`);
          const range = { startLine: first + 1, endLine: first + 1 + more, maxBytes: 1_000_000 };

          const got = await rangeOf(all.join(''), range);

          expect(got.text).toBe(all.slice(first, first + 1 + more).join(''));
          expect(got.totalLines).toBe(all.length);
        },
      ),
      { numRuns: 60 },
    );
  });
});
