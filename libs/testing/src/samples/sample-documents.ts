import { buffer } from 'node:stream/consumers';
import { ZipFile } from 'yazl';

/** Real files of the Office and PDF formats, as small as they can be. */

const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';
const S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';
const P = `xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="${RELATIONS}"`;

export type Parts = Readonly<Record<string, string | Buffer>>;

/** The parts as a zip file, deflated. */
export async function zipFile(parts: Parts): Promise<Buffer> {
  const file = new ZipFile();
  for (const [name, content] of Object.entries(parts)) file.addBuffer(Buffer.from(content), name);
  file.end();
  return buffer(file.outputStream);
}

const links = (targets: Readonly<Record<string, readonly [type: string, target: string]>>) =>
  `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${Object.entries(targets)
    .map(([id, [type, target]]) => `<Relationship Id="${id}" Type="${RELATIONS}/${type}" Target="${target}"/>`)
    .join('')}</Relationships>`;

const contentTypes = (overrides: Readonly<Record<string, string>>) =>
  `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${Object.entries(
    overrides,
  )
    .map(([part, type]) => `<Override PartName="${part}" ContentType="${type}"/>`)
    .join('')}</Types>`;

/** Body of a Word file's paragraph in a style. */
export const wordParagraph = (text: string, style = '') =>
  `<w:p>${style === '' ? '' : `<w:pPr>${style}</w:pPr>`}<w:r><w:t>${text}</w:t></w:r></w:p>`;

/** Body of a Word file's table. */
export const wordTable = (...rows: readonly (readonly string[])[]): string =>
  `<w:tbl>${rows.map((row) => `<w:tr>${row.map((cell) => `<w:tc>${wordParagraph(cell)}</w:tc>`).join('')}</w:tr>`).join('')}</w:tbl>`;

export const docxParts = (body: string): Parts => ({
  '[Content_Types].xml': contentTypes({
    '/word/document.xml': 'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml',
  }),
  '_rels/.rels': links({ r1: ['officeDocument', 'word/document.xml'] }),
  'word/_rels/document.xml.rels': links({ r1: ['styles', 'styles.xml'], r2: ['numbering', 'numbering.xml'] }),
  'word/styles.xml': `<w:styles ${W}><w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style></w:styles>`,
  'word/numbering.xml': `<w:numbering ${W}><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>`,
  'word/document.xml': `<w:document ${W}><w:body>${body}</w:body></w:document>`,
});

const shape = (placeholder: string, paragraphs: string) =>
  `<p:sp><p:nvSpPr><p:cNvPr id="2" name="x"/><p:cNvSpPr/><p:nvPr>${placeholder}</p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/>${paragraphs}</p:txBody></p:sp>`;
const drawn = (text: string, level = 0) => `<a:p><a:pPr lvl="${level}"/><a:r><a:t>${text}</a:t></a:r></a:p>`;
const drawnRow = (...cells: readonly string[]) =>
  `<a:tr h="1">${cells.map((cell) => `<a:tc><a:txBody>${drawn(cell)}</a:txBody></a:tc>`).join('')}</a:tr>`;

/** A presentation whose one slide has a title, two levels of bullets, a table and notes. */
export const pptxParts = (): Parts => ({
  '[Content_Types].xml': contentTypes({}),
  '_rels/.rels': links({ r1: ['officeDocument', 'ppt/presentation.xml'] }),
  'ppt/presentation.xml': `<p:presentation ${P}><p:sldIdLst><p:sldId id="256" r:id="r7"/></p:sldIdLst></p:presentation>`,
  'ppt/_rels/presentation.xml.rels': links({ r7: ['slide', 'slides/slide1.xml'] }),
  'ppt/slides/slide1.xml': `<p:sld ${P}><p:cSld><p:spTree>${shape('<p:ph type="title"/>', drawn('Herd &amp; tundra'))}${shape(
    '<p:ph idx="1"/>',
    drawn('North') + drawn('Far north', 1),
  )}<p:graphicFrame><a:graphic><a:graphicData><a:tbl>${drawnRow('Year', 'Head')}${drawnRow('2025', '41|000')}</a:tbl></a:graphicData></a:graphic></p:graphicFrame></p:spTree></p:cSld></p:sld>`,
  'ppt/slides/_rels/slide1.xml.rels': links({ r1: ['notesSlide', '../notesSlides/notesSlide1.xml'] }),
  'ppt/notesSlides/notesSlide1.xml': `<p:notes ${P}><p:cSld><p:spTree>${shape('<p:ph type="body" idx="1"/>', drawn('Speak slowly'))}</p:spTree></p:cSld></p:notes>`,
});

export const xlsxParts = (rows: string): Parts => ({
  '[Content_Types].xml': contentTypes({}),
  '_rels/.rels': links({ r1: ['officeDocument', 'xl/workbook.xml'] }),
  'xl/workbook.xml': `<workbook ${S} xmlns:r="${RELATIONS}"><sheets><sheet name="Calves" sheetId="1" r:id="r1"/></sheets></workbook>`,
  'xl/_rels/workbook.xml.rels': links({
    r1: ['worksheet', 'worksheets/sheet1.xml'],
    r2: ['sharedStrings', 'sharedStrings.xml'],
    r3: ['styles', 'styles.xml'],
  }),
  'xl/sharedStrings.xml': `<sst ${S}><si><t>Born</t></si><si><r><t>Na</t></r><r><t>me</t></r></si></sst>`,
  'xl/styles.xml': `<styleSheet ${S}><numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd hh:mm"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/></cellXfs></styleSheet>`,
  'xl/worksheets/sheet1.xml': `<worksheet ${S}><sheetData>${rows}</sheetData></worksheet>`,
});

/** A PDF with a page for each list of lines; a line has its size in points and its text. */
export function pdfFile(pages: readonly (readonly (readonly [points: number, text: string])[])[]): Buffer {
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Count ${pages.length} /Kids [${pages.map((_, at) => `${4 + 2 * at} 0 R`).join(' ')}] >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ...pages.flatMap((lines, at) => {
      const shown = lines.map(([points, text]) => `/F1 ${points} Tf (${text}) Tj 0 -30 Td`).join('\n');
      const content = `BT 72 720 Td\n${shown}\nET`;
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + 2 * at} 0 R >>`,
        `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
      ];
    }),
  ];
  let file = '%PDF-1.4\n';
  const offsets = objects.map((object, at) => {
    const offset = file.length;
    file += `${at + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(offset).padStart(10, '0')} 00000 n \n`;
  });
  const table = file.length;
  file += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${offsets.join('')}`;
  return Buffer.from(`${file}trailer << /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${table}\n%%EOF\n`);
}
