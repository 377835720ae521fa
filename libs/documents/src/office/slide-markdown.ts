/** The Markdown of slides, for all formats. */

const MAX_LEVEL = 8;

export interface SlideLine {
  readonly text: string;
  /** Depth among bullets, from 0. */
  readonly level: number;
}

export interface Slide {
  /** From 1. */
  readonly number: number;
  readonly title: string;
  /** Blocks of Markdown; empty ones are omitted. */
  readonly body: readonly string[];
  readonly notes: readonly string[];
}

const indent = (level: number) => '  '.repeat(Math.min(Math.max(level, 0) || 0, MAX_LEVEL));

/** Paragraphs of a shape: bullets by their level, or plain ones. Empty ones are omitted. */
export function slideLines(lines: readonly SlideLine[], bullets: boolean): string {
  const shown = lines.filter(({ text }) => text !== '');
  return shown.map(({ text, level }) => (bullets ? `${indent(level)}- ${text}` : text)).join(bullets ? '\n' : '\n\n');
}

/** Title, body, and the notes as a quotation. */
export function slideMarkdown({ number, title, body, notes }: Slide): string {
  const heading = `## Slide ${number}${title.trim() === '' ? '' : `: ${title.trim()}`}`;
  const said = notes.filter((line) => line !== '');
  const quoted = said.length === 0 ? '' : ['**Notes:**', ...said].map((line) => `> ${line}`).join('\n>\n');
  return [heading, ...body, quoted].filter((block) => block !== '').join('\n\n');
}
