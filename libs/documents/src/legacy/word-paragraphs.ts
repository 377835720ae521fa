import type { ParagraphFormat, WordFormats } from './word-formats.js';
import type { WordText } from './word-text.js';

export interface WordParagraph {
  readonly text: string;
  readonly endsCell: boolean;
  readonly format: ParagraphFormat;
}

const CELL_END = '\u0007';
const PARAGRAPH_ENDS = ['\r', '\f', CELL_END];
const FIELD_BEGIN = '\u0013';
const FIELD_RESULT = '\u0014';
const FIELD_END = '\u0015';
const MAX_CODE_CHARS = 2_000;
/** Control characters that represent a character; others represent pictures, notes and similar. */
const CHARACTERS: ReadonlyMap<string, string> = new Map([
  ['\t', ' '],
  ['\n', ' '],
  ['\u000b', '\n'],
  ['\u001e', '-'],
]);

interface Field {
  code: string;
  inCode: boolean;
  link: string;
}

/** Resolves fields in text to their results, with the target for links. */
class Fields {
  readonly #open: Field[] = [];
  #codes = 0;

  /** The output for that character. */
  render(char: string): string {
    if (char === FIELD_BEGIN) return this.#begin();
    if (char === FIELD_RESULT) return this.#result();
    if (char === FIELD_END) return this.#end();
    if (this.#codes === 0) return CHARACTERS.get(char) ?? (char < ' ' ? '' : char);
    const field = this.#open.at(-1);
    if (field?.inCode === true && field.code.length < MAX_CODE_CHARS) field.code += char;
    return '';
  }

  #begin(): string {
    this.#open.push({ code: '', inCode: true, link: '' });
    this.#codes++;
    return '';
  }

  #result(): string {
    const field = this.#open.at(-1);
    if (field?.inCode !== true) return '';
    field.inCode = false;
    if (--this.#codes > 0) return '';
    field.link = /^\s*HYPERLINK\s+"((?:https?:|mailto:)[^"\s]+)"/i.exec(field.code)?.[1] ?? '';
    return field.link === '' ? '' : '[';
  }

  #end(): string {
    const field = this.#open.pop();
    if (field?.inCode === true) this.#codes--;
    return field === undefined || field.link === '' ? '' : `](${field.link})`;
  }
}

/** The paragraphs of a part of the text, at most `maxChars` characters, without deleted and hidden text. */
export function* wordParagraphs(
  text: WordText,
  formats: WordFormats,
  { part, maxChars }: { part: Parameters<WordText['pieces']>[0]; maxChars: number },
): Generator<WordParagraph> {
  const fields = new Fields();
  let line = '';
  let end = 0;
  for (const { text: piece, fc, bytesPerChar } of text.pieces(part, maxChars)) {
    for (let index = 0; index < piece.length; index++) {
      const char = piece.charAt(index);
      end = fc + index * bytesPerChar;
      if (PARAGRAPH_ENDS.includes(char)) {
        yield { text: line.trim(), endsCell: char === CELL_END, format: formats.paragraph(end) };
        line = '';
      } else if (!formats.isHidden(end)) line += fields.render(char);
    }
  }
  if (line !== '') yield { text: line.trim(), endsCell: false, format: formats.paragraph(end) };
}
