import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { DeadlineError, InvalidRequestError, RateLimitedError, TooLargeError } from '@caribou/contracts';
import { docxParts, pdfFile, pptxParts, wordParagraph, wordTable, xlsxParts, zipFile } from '@caribou/testing';
import { type ConversionOptions, type DocumentConverter, documentConverter } from '../index.js';

const repository = join(__dirname, '..', '..', '..', '..');
// Each conversion starts a process.
jest.setTimeout(90_000);

const program = join(repository, 'dist/libs/documents/src/conversion/conversion-process.js');

beforeAll(() => {
  execFileSync(process.execPath, ['tools/build/build.mjs', 'libs/contracts', 'libs/documents'], { cwd: repository });
});

describe('documentConverter', () => {
  let converter: DocumentConverter;
  const converted = (file: Buffer | string, options: ConversionOptions) =>
    converter.toMarkdown(Buffer.from(file), options);

  beforeEach(() => {
    converter = documentConverter({ program });
  });

  test('a Word file gives headings, lists and tables', async () => {
    const file = await zipFile(
      docxParts(
        [
          wordParagraph('Migration', '<w:pStyle w:val="Heading1"/>'),
          wordParagraph('They walk.'),
          wordParagraph('south', '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'),
          wordTable(['Year', 'Head'], ['2025', '41']),
        ].join(''),
      ),
    );
    const markdown = await converted(file, { kind: 'docx' });
    expect(markdown).toMatch(/^# Migration\n\nThey walk\.\n\n- +south\n\n/);
    expect(markdown).toContain('| Year | Head |\n| --- | --- |\n| 2025 | 41 |');
  });

  test('a presentation gives title, bullets by level, table and notes', async () => {
    expect(await converted(await zipFile(pptxParts()), { kind: 'pptx' })).toBe(
      [
        '## Slide 1: Herd & tundra',
        '- North\n  - Far north',
        '| Year | Head |\n| --- | --- |\n| 2025 | 41\\|000 |',
        '> **Notes:**\n>\n> Speak slowly\n',
      ].join('\n\n'),
    );
  });

  test('a workbook gives a table per sheet, with shared strings, gaps and dates', async () => {
    const rows = [
      '<row r="1"><c r="A1" t="s"><v>1</v></c><c r="C1" t="s"><v>0</v></c></row>',
      '<row r="2"><c r="A2" t="inlineStr"><is><t>Ada</t></is></c><c r="C2" s="1"><v>45292</v></c></row>',
      '<row r="3"><c r="A3"><f>1+1</f><v>2</v></c><c r="B3" t="b"><v>1</v></c><c r="C3" s="2"><v>45292.5</v></c></row>',
    ].join('');
    expect(await converted(await zipFile(xlsxParts(rows)), { kind: 'xlsx' })).toBe(
      [
        '## Calves\n\n| Name |  | Born |',
        '| --- | --- | --- |',
        '| Ada |  | 2024-01-01 |',
        '| 2 | TRUE | 2024-01-01 12:00:00 |\n',
      ].join('\n'),
    );
  });

  test('a PDF gives its text by pages, larger lines as headings', async () => {
    const file = pdfFile([
      [
        [24, 'Report'],
        [12, 'The herd grew this year.'],
      ],
      [[12, 'The end.']],
    ]);
    expect(await converted(file, { kind: 'pdf' })).toBe(
      '## Page 1\n\n### Report\n\nThe herd grew this year.\n\n## Page 2\n\nThe end.\n',
    );
  });

  test('HTML loses scripts and styles and keeps structure', async () => {
    const html =
      '<html><head><title>x</title><style>p{}</style></head><body><h2>Elk</h2><script>alert(1)</script>' +
      '<ul><li>one</li></ul><table><tr><th>a</th></tr><tr><td>b<script>alert(2)</script></td></tr></table></body></html>';
    const markdown = await converted(html, { kind: 'html' });
    expect(markdown).toMatch(/^## Elk\n\n- +one\n\n\| a \|\n\| --- \|\n\| b \|\n$/);
  });

  test('CSV becomes a table, quotes, bars and line ends included', async () => {
    expect(await converted('name;note\r\n"A ""x""";"two\nlines | bar"\r\n', { kind: 'csv' })).toBe(
      '| name | note |\n| --- | --- |\n| A "x" | two<br>lines \\| bar |\n',
    );
  });

  test('rows past the limit are left out and the table says so', async () => {
    expect(await converted('a\n1\n2\n3\n', { kind: 'csv', limits: { maxRows: 2 } })).toBe(
      '| a |\n| --- |\n| 1 |\n\n*Left out: rows after 2.*\n',
    );
  });

  test('Markdown past the limit is cut and says so', async () => {
    const markdown = await converted(`<p>${'é'.repeat(1000)}</p>`, { kind: 'html', limits: { maxOutputBytes: 101 } });
    expect(markdown).toBe(`${'é'.repeat(50)}\n\n*Left out: what follows the first 101 bytes.*\n`);
  });

  test.each(['pdf', 'docx', 'pptx', 'xlsx'] as const)('garbage named %s is refused', async (kind) => {
    const refused = {
      name: InvalidRequestError.name,
      message: expect.stringContaining(`could not be read as ${kind}`),
    };
    await expect(converted('no such thing', { kind })).rejects.toMatchObject(refused);
  });

  test.each([
    ['docx', docxParts('')],
    ['pptx', pptxParts()],
    ['xlsx', xlsxParts('')],
  ] as const)('a part of a %s file that inflates past the limit is refused', async (kind, parts) => {
    const bomb = await zipFile({ ...parts, 'bomb.xml': Buffer.alloc(8 * 1024 * 1024, 0x20) });
    await expect(converted(bomb, { kind, limits: { maxEntryBytes: 1024 * 1024 } })).rejects.toThrow(TooLargeError);
  });

  test('a Word file whose text is in a part of another name does not pass the limits of memory', async () => {
    const parts = docxParts('');
    const bomb = await zipFile({
      ...parts,
      '_rels/.rels': String(parts['_rels/.rels']).replace('word/document.xml', 'word/document.bin'),
      'word/document.bin': `<w:document>${' '.repeat(80 * 1024 * 1024)}</w:document>`,
    });
    const refused = converted(bomb, { kind: 'docx', limits: { maxHeapMib: 64 } });
    await expect(refused).rejects.toThrow(/MiB of memory|could not be read/);
  });

  test('a PDF whose pages are their own parents comes to an end', async () => {
    const file = pdfFile([[[12, 'once']]])
      .toString('latin1')
      .replace('[4 0 R]', '[2 0 R]');
    await expect(converted(file, { kind: 'pdf', limits: { deadlineMs: 30_000 } })).rejects.toThrow('read as pdf');
  });

  test('too many entries are refused', async () => {
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`e${at}.bin`, '']));
    const bomb = await zipFile({ ...pptxParts(), ...many });
    await expect(converted(bomb, { kind: 'pptx', limits: { maxEntries: 50 } })).rejects.toThrow(
      'the file holds more than 50 entries',
    );
  });

  test.each(['docx', 'xlsx'] as const)('entities of a DTD in a %s file are refused, not expanded', async (kind) => {
    const part = kind === 'docx' ? 'word/document.xml' : 'xl/workbook.xml';
    const parts = kind === 'docx' ? docxParts('') : xlsxParts('');
    const lol = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><x>&b;</x>';
    await expect(converted(await zipFile({ ...parts, [part]: lol }), { kind })).rejects.toThrow(
      'document type definition',
    );
  });

  test('XML nested too deeply is refused', async () => {
    const deep = '<w:p>'.repeat(500) + '</w:p>'.repeat(500);
    await expect(converted(await zipFile(docxParts(deep)), { kind: 'docx' })).rejects.toThrow(TooLargeError);
  });

  test('a file past the input limit is refused', async () => {
    await expect(converted('a,b\n', { kind: 'csv', limits: { maxInputBytes: 3 } })).rejects.toThrow(TooLargeError);
  });

  test('a conversion past its deadline is killed', async () => {
    const never = async function* () {
      yield Buffer.from('a');
      await new Promise<void>(() => undefined);
    };
    const conversion = converter.toMarkdown(never(), { kind: 'csv', limits: { deadlineMs: 200 } });
    await expect(conversion).rejects.toThrow(DeadlineError);
  });

  test('a conversion that needs more memory than it has ends alone, and the next one works', async () => {
    const html = '<p>'.repeat(1_000_000);
    await expect(converted(html, { kind: 'html', limits: { maxHeapMib: 20 } })).rejects.toThrow(TooLargeError);
    expect(await converted('a\n', { kind: 'csv' })).toBe('| a |\n| --- |\n');
  });

  test('an abort ends a running and a waiting conversion with its reason', async () => {
    converter = documentConverter({ program, maxAtOnce: 1, maxWaiting: 1 });
    const abort = new AbortController();
    const running = converted('a', { kind: 'csv', signal: abort.signal });
    const waiting = converted('b', { kind: 'csv', signal: abort.signal });
    const third = converted('c', { kind: 'csv' });
    await expect(third).rejects.toThrow(RateLimitedError);
    const both = Promise.allSettled([running, waiting]);
    abort.abort(new Error('gone'));
    expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await converted('d', { kind: 'csv' })).toContain('| d |');
  });
});
