import type { DocumentLimits } from '../limits.js';
import { markdownTable } from '../text/markdown-table.js';
import { slideLines, slideMarkdown } from '../office/slide-markdown.js';
import { compoundFile } from './compound-file.js';
import { type Presentation, type PptRecord, presentation, RecordReader } from './ppt-records.js';
import { type PptText, pptTexts } from './ppt-text.js';

/**
 * Converts files of PowerPoint 97 to 2003. No maintained package on npm reads the format (`ppt` is from 2014 and
 * returns the texts without their slides), and only a small part is needed: records, the list of slides, and their
 * texts.
 */

const SLIDE_LIST = 0x0ff0;
const SLIDE_ENTRY = 0x03f3;
const SLIDES = 0;
const NOTES = 2;
const NOTES_ATOM = 0x03f1;
const DRAWING = 0x040c;
const GROUP = 0xf003;
const SHAPE = 0xf004;
const SHAPE_TEXT = 0xf00d;
const SHAPE_DATA = 0xf011;
const SHAPE_IN_GROUP = 0xf00f;
const MORE_PROPERTIES = 0xf122;
const TABLE_PROPERTIES = 0x039f;
const PLACEHOLDER = 0x0bc3;
const OUTLINE_REFERENCE = 0x0f9e;
/** Placeholders of date, number, footer and header, which are not content of the slide. */
const FURNITURE = [7, 8, 9, 10];
const TITLE_PLACEHOLDERS = [13, 15, 17];
const NOTES_PLACEHOLDER = 12;

interface ListedSlide {
  readonly persistNumber: number;
  readonly slideId: number;
  /** Texts of its placeholders, which its shapes reference by index. */
  readonly texts: readonly PptText[];
}

interface Shape {
  readonly placeholder: number;
  readonly text: PptText;
  /** Upper left corner, in units of its group. */
  readonly x: number;
  readonly y: number;
}

class PptReader {
  readonly #reader: RecordReader;
  readonly #presentation: Presentation;

  constructor(
    file: Buffer,
    private readonly limits: DocumentLimits,
  ) {
    this.#reader = new RecordReader(limits);
    this.#presentation = presentation(compoundFile(file, limits), this.#reader);
  }

  /** The slides of a list in order, at most one more than are shown. */
  listSlides(which: number): readonly ListedSlide[] {
    const open: { head: Buffer; records: PptRecord[] }[] = [];
    const { body } = this.#presentation.root;
    const list = [...this.#reader.each(body)].find(({ type, instance }) => type === SLIDE_LIST && instance === which);
    for (const record of this.#reader.each(list?.body ?? Buffer.alloc(0))) {
      if (record.type === SLIDE_ENTRY) {
        if (open.length > this.limits.maxPages) break;
        open.push({ head: record.body, records: [] });
      } else open.at(-1)?.records.push(record);
    }
    return open.map(({ head, records }) => ({
      persistNumber: head.readUInt32LE(0),
      slideId: head.readUInt32LE(12),
      texts: pptTexts(records),
    }));
  }

  /** The lines of the notes pages by slide id. */
  notes(): ReadonlyMap<number, readonly string[]> {
    const notes = new Map<number, readonly string[]>();
    for (const listed of this.listSlides(NOTES)) {
      const page = this.#presentation.findPersisted(listed.persistNumber);
      const atom = page === undefined ? undefined : this.#reader.child(page.body, NOTES_ATOM);
      if (page === undefined || atom === undefined || atom.body.length < 4) continue;
      const shapes = this.#shapesOf(page, listed).filter(({ placeholder }) => placeholder === NOTES_PLACEHOLDER);
      const lines = shapes.flatMap(({ text }) => this.#shown(text).map((line) => line.text));
      notes.set(atom.body.readUInt32LE(0), lines);
    }
    return notes;
  }

  slide(listed: ListedSlide, number: number, notes: readonly string[]): string {
    const page = this.#presentation.findPersisted(listed.persistNumber);
    const titles: string[] = [];
    const body: string[] = [];
    for (const drawn of page === undefined ? [] : this.#drawnOn(page)) {
      if (this.#isTable(drawn)) {
        body.push(this.#table(drawn, listed));
        continue;
      }
      for (const { placeholder, text } of this.#shapesOf(drawn, listed)) {
        if (FURNITURE.includes(placeholder)) continue;
        const lines = this.#shown(text);
        const isTitle = text.use === 'title' || TITLE_PLACEHOLDERS.includes(placeholder);
        if (isTitle) titles.push(...lines.map((line) => line.text));
        else body.push(slideLines(lines, text.bullets));
      }
    }
    return slideMarkdown({ number, title: titles.join(' '), body, notes });
  }

  #shown(text: PptText): PptText['lines'] {
    for (const line of text.lines) this.#reader.show(line.text);
    return text.lines;
  }

  /** Shapes and groups of a slide. */
  *#drawnOn(page: PptRecord): Generator<PptRecord> {
    for (const drawing of this.#reader.below(page.body, [DRAWING])) {
      for (const whole of this.#reader.below(drawing.body, [GROUP])) yield* this.#reader.each(whole.body);
    }
  }

  /** Whether a group of shapes is a table, according to its first shape, which has no text. */
  #isTable({ type, body }: PptRecord): boolean {
    if (type !== GROUP) return false;
    const first = this.#reader.child(body, SHAPE);
    const properties = first === undefined ? undefined : this.#reader.child(first.body, MORE_PROPERTIES);
    if (properties === undefined) return false;
    const { instance: count, body: list } = properties;
    for (let at = 0; at < count * 6 && at + 6 <= list.length; at += 6) {
      if ((list.readUInt16LE(at) & 0x3fff) === TABLE_PROPERTIES) return (list.readUInt32LE(at + 2) & 1) === 1;
    }
    return false;
  }

  /** Arranges cells by their corners: equal heights form a row, and each horizontal position is a column. */
  #table(group: PptRecord, listed: ListedSlide): string {
    const cells = this.#shapesOf(group, listed);
    const sortDistinct = (values: readonly number[]) => [...new Set(values)].sort((a, b) => a - b);
    const columns = new Map(sortDistinct(cells.map(({ x }) => x)).map((x, column) => [x, column]));
    const rows = new Map(sortDistinct(cells.map(({ y }) => y)).map((y): [number, string[]] => [y, []]));
    for (const { x, y, text } of cells) {
      const column = columns.get(x) ?? 0;
      const row = rows.get(y);
      if (row === undefined || column > this.limits.maxColumns) continue;
      while (row.length < column) row.push('');
      row[column] = this.#shown(text)
        .map((line) => line.text)
        .join('\n');
    }
    return markdownTable([...rows.values()], this.limits);
  }

  /** The shapes with text in a shape, a group or a page. */
  #shapesOf(drawn: PptRecord, listed: ListedSlide): readonly Shape[] {
    const shapes = drawn.type === SHAPE ? [drawn] : [...this.#reader.below(drawn.body, [SHAPE])];
    return shapes.flatMap(({ body }) => {
      const parts = [...this.#reader.each(body)];
      const part = (type: number) => parts.find((one) => one.type === type)?.body;
      const content = part(SHAPE_TEXT);
      if (content === undefined) return [];
      const anchor = part(SHAPE_IN_GROUP);
      const [x, y] =
        anchor === undefined || anchor.length < 8 ? [0, 0] : [anchor.readInt32LE(0), anchor.readInt32LE(4)];
      const placeholder = this.#placeholderOf(part(SHAPE_DATA));
      return this.#textsOf(content, listed).map((text) => ({ placeholder, text, x, y }));
    });
  }

  #placeholderOf(data: Buffer | undefined): number {
    const atom = data === undefined ? undefined : this.#reader.child(data, PLACEHOLDER);
    return atom === undefined || atom.body.length < 5 ? 0 : atom.body.readUInt8(4);
  }

  /** A shape's own text, or the text of the slide's list that it references. */
  #textsOf(content: Buffer, { texts }: ListedSlide): readonly PptText[] {
    const records = [...this.#reader.each(content)];
    const reference = records.find(({ type }) => type === OUTLINE_REFERENCE)?.body;
    const named = reference === undefined || reference.length < 4 ? undefined : texts[reference.readUInt32LE(0)];
    return named === undefined ? pptTexts(records) : [named];
  }
}

/**
 * Converts slides in order: title, bullets, tables, notes, as for a PPTX. Pictures and macros are ignored.
 *
 * @throws TooLargeError, InvalidRequestError when it is encrypted, Error when it is broken
 */
export function pptToMarkdown(bytes: Buffer, limits: DocumentLimits): string {
  const reader = new PptReader(bytes, limits);
  const slides = reader.listSlides(SLIDES);
  const notes = reader.notes();
  const texts = slides
    .slice(0, limits.maxPages)
    .map((slide, index) => reader.slide(slide, index + 1, notes.get(slide.slideId) ?? []));
  if (slides.length > limits.maxPages) texts.push(`*Left out: slides after ${limits.maxPages}.*`);
  return texts.join('\n\n');
}
