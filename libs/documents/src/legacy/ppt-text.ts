import type { SlideLine } from '../office/slide-markdown.js';
import type { PptRecord } from './ppt-records.js';

/** Texts of a PowerPoint file (MS-PPT): a header with the purpose, the characters, the levels of the paragraphs. */

const HEAD = 0x0f9f;
const CHARACTERS = 0x0fa0;
const STYLE = 0x0fa1;
const BYTES = 0x0fa8;

/** Purposes of a text; others are free shapes and subtitles. */
const TITLES = [0, 6];
const BODIES = [1, 7, 8];

export interface PptText {
  readonly use: 'title' | 'body' | 'other';
  readonly lines: readonly PptLine[];
  readonly bullets: boolean;
}

interface PptLine extends SlideLine {
  readonly bullet: boolean;
}

/** Line breaks, and the marks of fields, which have no text. */
const BREAKS = new RegExp(String.raw`[\u0000-\u001f]+`, 'g');

interface OpenText {
  type: number;
  text: string;
  style: Buffer | undefined;
}

/** Sizes of the fields of a paragraph's format, in order, by the bits of its mask. */
const FORMAT_FIELDS: readonly (readonly [mask: number, bytes: number])[] = [
  [0x0000000f, 2],
  [0x00000080, 2],
  [0x00000010, 2],
  [0x00000040, 2],
  [0x00000020, 4],
  [0x00000800, 2],
  [0x00001000, 2],
  [0x00002000, 2],
  [0x00004000, 2],
  [0x00000100, 2],
  [0x00000400, 2],
  [0x00008000, 2],
];
const HAS_BULLET = 0x00000001;
const TAB_STOPS = 0x00100000;
const FORMAT_FIELDS_AFTER_TABS: readonly (readonly [mask: number, bytes: number])[] = [
  [0x00010000, 2],
  [0x000e0000, 2],
  [0x00200000, 2],
];

const bytesOf = (fields: typeof FORMAT_FIELDS, mask: number) =>
  fields.reduce((sum, [bits, bytes]) => sum + ((mask & bits) === 0 ? 0 : bytes), 0);

interface Stretch {
  readonly chars: number;
  readonly level: number;
  /** Whether its own format has a bullet; for a body the master defines it. */
  readonly bullet: boolean;
}

/** The format of each stretch of characters; truncated ones are omitted. */
function* stretchesOf(style: Buffer): Generator<Stretch> {
  for (let at = 0; at + 10 <= style.length; ) {
    const mask = style.readUInt32LE(at + 6);
    const bullet = (mask & HAS_BULLET) !== 0 && at + 12 <= style.length && (style.readUInt16LE(at + 10) & 1) === 1;
    yield { chars: style.readUInt32LE(at), level: style.readUInt16LE(at + 4), bullet };
    at += 10 + bytesOf(FORMAT_FIELDS, mask);
    if ((mask & TAB_STOPS) !== 0) at += 2 + (at + 2 <= style.length ? style.readUInt16LE(at) * 4 : 0);
    at += bytesOf(FORMAT_FIELDS_AFTER_TABS, mask);
  }
}

const plain: Stretch = { chars: 0, level: 0, bullet: false };

function linesOf({ text, style }: OpenText): readonly PptLine[] {
  const stretches = stretchesOf(style ?? Buffer.alloc(0));
  let stretch = plain;
  let covered = 0;
  let at = 0;
  return text.split('\r').map((line) => {
    while (covered <= at) {
      const next = stretches.next();
      if (next.done === true) break;
      stretch = next.value;
      covered += stretch.chars;
    }
    const { level, bullet } = covered > at ? stretch : plain;
    at += line.length + 1;
    return { text: line.replace(BREAKS, ' ').trim(), level, bullet };
  });
}

const useOf = (type: number): PptText['use'] => {
  if (TITLES.includes(type)) return 'title';
  return BODIES.includes(type) ? 'body' : 'other';
};

/** The texts in these records, in order and including empty ones, as they are referenced by their index. */
export function pptTexts(records: Iterable<PptRecord>): readonly PptText[] {
  const texts: OpenText[] = [];
  for (const { type, body } of records) {
    if (type === HEAD) texts.push({ type: body.length < 4 ? -1 : body.readUInt32LE(0), text: '', style: undefined });
    const open = texts.at(-1);
    if (open === undefined) continue;
    if (type === CHARACTERS) open.text = body.toString('utf16le');
    else if (type === BYTES) open.text = body.toString('latin1');
    else if (type === STYLE) open.style = body;
  }
  return texts.map((open) => {
    const use = useOf(open.type);
    const lines = linesOf(open);
    return { use, lines, bullets: use === 'body' || lines.some(({ bullet }) => bullet) };
  });
}
