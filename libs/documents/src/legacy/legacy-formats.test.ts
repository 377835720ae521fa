import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { InvalidRequestError, TooLargeError } from '@caribou/contracts';
import {
  compoundFileOf,
  docxParts,
  pptRecord,
  sampleDocument,
  slidesFile,
  wordParagraph,
  zipFile,
} from '@caribou/testing';
import { type ConversionOptions, documentConverter } from '../index.js';

const repository = join(__dirname, '..', '..', '..', '..');
// Each conversion starts a process.
jest.setTimeout(90_000);

const program = join(repository, 'dist/libs/documents/src/conversion/conversion-process.js');
const converter = documentConverter({ program });
const converted = (file: Buffer, options: ConversionOptions) => converter.toMarkdown(file, options);

beforeAll(() => {
  execFileSync(process.execPath, ['tools/build/build.mjs', 'libs/contracts', 'libs/documents'], { cwd: repository });
});

const word = (herd: string, river: string): string =>
  [
    `# Migration of the ${herd}`,
    `They walk far, to the ${river}; see [the map](https://example.org/herd).`,
    '## Directions',
    '- South\n  - Far south\n- North',
    '| Year | Distance |\n| --- | --- |\n| 2025 | 1350 km<br>or \\| more |',
    'The end.',
    '**Footnotes:**',
    '- As far as 1350 km.\n',
  ].join('\n\n');

/** With another byte, or 32-bit number, where it says. */
function patched(file: Buffer, at: number, value: number, bytes: 1 | 4 = 4): Buffer {
  const copy = Buffer.from(file);
  copy.writeUIntLE(value, at, bytes);
  return copy;
}

/** Where the sector's link is in a file whose one table sector is named first in its header. */
const linkOf = (file: Buffer, sector: number): number => (file.readUInt32LE(0x4c) + 1) * 512 + sector * 4;

describe('documents of Office 97 to 2003', () => {
  test('a Word file gives headings, lists, tables, links and notes, and nothing deleted or hidden', async () => {
    expect(await converted(sampleDocument('migration.doc'), { kind: 'doc' })).toBe(word('驯鹿 herd', 'Юкон 🦌'));
  });

  test('a Word file whose text is a byte for each character gives the same', async () => {
    expect(await converted(sampleDocument('yukon.doc'), { kind: 'doc' })).toBe(word('herd', 'Yukon café'));
  });

  test('a workbook gives a table per sheet, with dates, results of formulas and gaps', async () => {
    expect(await converted(sampleDocument('herds.xls'), { kind: 'xls' })).toBe(
      [
        '## Herds',
        '| Herd | Head |  | Counted |\n| --- | --- | --- | --- |\n| Réno 驯鹿 🦌 | 218000.5 |  | 2024-01-01 |\n| Sum \\| all | 436001 | 1 |  |',
        '## Rivers ü',
        '| River |\n| --- |\n| Юкон |',
        '## Empty',
        '*No cells.*\n',
      ].join('\n\n'),
    );
  });

  test('a presentation gives titles, bullets by level, a table and notes', async () => {
    expect(await converted(sampleDocument('tundra.ppt'), { kind: 'ppt' })).toBe(
      [
        '## Slide 1: Herd & tundra 驯鹿',
        '- North\n  - Far north\n- South 🦌',
        'A free shape: café',
        '> **Notes:**\n>\n> Speak slowly\n>\n> Медленно',
        '## Slide 2: Rivers',
        '| Year | Head |\n| --- | --- |\n| 2025 | 41\\|000 |',
        '## Slide 3: The end',
        'Subtitle\n',
      ].join('\n\n'),
    );
  });

  test('slides whose shapes name texts of the list are read from there, the last edit counts', async () => {
    const file = slidesFile([
      { title: 'Nord', lines: ['one', 'two'] },
      { title: 'Süd', lines: [] },
    ]);
    expect(await converted(file, { kind: 'ppt' })).toBe('## Slide 1: Nord\n\n- one\n- two\n\n## Slide 2: Süd\n');
  });

  test.each([
    ['migration.doc', 'xls', '# Migration'],
    ['migration.doc', 'docx', '# Migration'],
    ['herds.xls', 'ppt', '## Herds'],
    ['tundra.ppt', 'doc', '## Slide 1'],
  ] as const)('%s is converted by its content when its name says %s', async (name, kind, beginning) => {
    expect(await converted(sampleDocument(name), { kind })).toContain(beginning);
  });

  test('a file of today that has the old extension is converted', async () => {
    const file = await zipFile(docxParts(wordParagraph('They walk.')));
    expect(await converted(file, { kind: 'doc' })).toBe('They walk.\n');
  });

  test('sheets, rows and slides past the limits are left out and the Markdown says so', async () => {
    const rows = await converted(sampleDocument('herds.xls'), { kind: 'xls', limits: { maxRows: 2, maxPages: 1 } });
    expect(rows).toMatch(/2024-01-01 \|\n\n\*Left out: rows after 2\.\*\n\n\*Left out: sheets after 1\.\*\n$/);
    const slides = await converted(sampleDocument('tundra.ppt'), { kind: 'ppt', limits: { maxPages: 1 } });
    expect(slides).toMatch(/Медленно\n\n\*Left out: slides after 1\.\*\n$/);
    const text = await converted(sampleDocument('migration.doc'), { kind: 'doc', limits: { maxOutputBytes: 40 } });
    expect(text).toMatch(/^# Migration of the 驯鹿 herd\n\n[^\n]+\n\n\*Left out: /);
  });
});

describe('documents of Office 97 to 2003 that are refused', () => {
  const encrypted = { name: InvalidRequestError.name, message: 'the file is encrypted' };
  const header = (file: Buffer, stream: 'Current User' | 'Workbook' | 'WordDocument'): number => {
    const marks = { 'Current User': 'f60f24000000', Workbook: '0908100000060500', WordDocument: 'eca50101' };
    const at = file.indexOf(Buffer.from(marks[stream], 'hex'));
    if (at < 0) throw new Error(`no ${stream}`);
    return at;
  };

  test.each(['doc', 'xls', 'ppt'] as const)('garbage named %s', async (kind) => {
    await expect(converted(Buffer.from('no such thing'), { kind })).rejects.toMatchObject({
      name: InvalidRequestError.name,
      message: `the file could not be read as ${kind}: it is neither a compound file nor a zip file`,
    });
  });

  test('encrypted ones, also those that Office encrypts as a whole', async () => {
    const [doc, xls, ppt] = [
      sampleDocument('migration.doc'),
      sampleDocument('herds.xls'),
      sampleDocument('tundra.ppt'),
    ];
    const flags = header(doc, 'WordDocument') + 0x0b;
    const secret = patched(doc, flags, doc.readUInt8(flags) | 1, 1);
    await expect(converted(secret, { kind: 'doc' })).rejects.toMatchObject(encrypted);
    // The record after the workbook's first becomes the one that says how it is encrypted.
    const second = header(xls, 'Workbook') + 4 + 16;
    await expect(converted(patched(xls, second, 0x2f, 1), { kind: 'xls' })).rejects.toMatchObject(encrypted);
    const locked = patched(ppt, header(ppt, 'Current User') + 10, 0xf3d1c4df);
    await expect(converted(locked, { kind: 'ppt' })).rejects.toMatchObject(encrypted);
    const whole = compoundFileOf({ EncryptionInfo: Buffer.alloc(64), EncryptedPackage: Buffer.alloc(5000) });
    for (const kind of ['docx', 'xlsx', 'pptx', 'doc'] as const) {
      await expect(converted(whole, { kind })).rejects.toMatchObject(encrypted);
    }
  });

  test.each(['doc', 'xls', 'ppt'] as const)('a %s that is cut in the middle', async (kind) => {
    const names = { doc: 'migration.doc', xls: 'herds.xls', ppt: 'tundra.ppt' } as const;
    const file = sampleDocument(names[kind]);
    await expect(converted(file.subarray(0, file.length / 2), { kind })).rejects.toThrow(
      `the file could not be read as ${kind}`,
    );
  });

  test('a container that holds something else, or a workbook that is something else', async () => {
    const other = compoundFileOf({ Contents: Buffer.from('x') });
    await expect(converted(other, { kind: 'doc' })).rejects.toThrow('no document of Word, Excel or PowerPoint');
    const page = compoundFileOf({ Workbook: Buffer.from('<html><table><tr><td>x</td></tr></table></html>') });
    await expect(converted(page, { kind: 'xls' })).rejects.toThrow('it has no workbook');
  });

  test('chains of sectors and names that lead back to themselves', async () => {
    const file = sampleDocument('tundra.ppt');
    const directory = file.readUInt32LE(0x30);
    const twice = patched(patched(file, linkOf(file, directory), 40), linkOf(file, 40), directory);
    await expect(converted(twice, { kind: 'ppt' })).rejects.toThrow('a chain of sectors has no end');
    const child = (directory + 1) * 512 + 128;
    await expect(converted(patched(file, child + 68, 1), { kind: 'ppt' })).rejects.toThrow('leads back to itself');
    const tables = patched(patched(file, 0x44, 3), (3 + 2) * 512 - 4, 3);
    await expect(converted(tables, { kind: 'ppt' })).rejects.toThrow('a chain of sectors has no end');
  });

  test('sizes that nothing is behind', async () => {
    const file = compoundFileOf({ WordDocument: Buffer.alloc(5000) });
    const stream =
      (file.readUInt32LE(0x30) + 1) * 512 + file.subarray((file.readUInt32LE(0x30) + 1) * 512).indexOf('W\0o\0r\0d');
    await expect(converted(patched(file, stream + 120, 0x7fffffff), { kind: 'doc' })).rejects.toThrow(
      'a stream is shorter than it says',
    );
  });

  test('records nested too deeply, too many of them, and a text that is named too often', async () => {
    let deep: Buffer = Buffer.alloc(0);
    for (let depth = 0; depth < 500; depth++) deep = pptRecord(0x040b, deep, { container: true });
    const nested = slidesFile([{ title: 'a', lines: [] }], { inSlide: deep });
    await expect(converted(nested, { kind: 'ppt' })).rejects.toThrow(TooLargeError);
    const many = slidesFile([{ title: 'a', lines: [] }], { inSlide: Buffer.alloc(8 * 1000) });
    await expect(converted(many, { kind: 'ppt', limits: { maxElements: 500 } })).rejects.toThrow(
      'more than 500 records',
    );
    const named = slidesFile([{ title: 'x'.repeat(9_000), lines: [] }], { times: 900 });
    await expect(converted(named, { kind: 'ppt' })).rejects.toThrow('the slides hold more than');
  });
});
