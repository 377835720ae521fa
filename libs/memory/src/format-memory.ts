import type { MemoryDocument } from '@caribou/contracts';
import { factLines, HEADINGS, type Line, summaryLines } from './memory-lines.js';
import type { CountTokens } from './token-counter.js';

export interface FormatOptions {
  readonly maxTokens: number;
  readonly countTokens: CountTokens;
}

/** Corrections keep this part of the tokens whatever else there is, up to `MAX_SURE_TOKENS` (DeerFlow: 500 of 2,000). */
const SURE_PART = 0.25;
const MAX_SURE_TOKENS = 500;
/** Less of a summary than this says nothing. */
const MIN_CUT_CHARS = 40;
/** A cut falls short a little rather than being counted once more. */
const CUT_MARGIN = 0.95;

/**
 * What is remembered, as the agent is shown it; '' when there is nothing. Summaries come first, then facts by
 * confidence, until the first that does not fit: so what is left out is what is least certain. Every text is one line
 * and escaped, so it is data wherever it stands.
 *
 * @param options `maxTokens` is never exceeded, as `countTokens` counts
 */
export function formatMemory(document: MemoryDocument, { maxTokens, countTokens }: FormatOptions): string {
  const facts = factLines(document.facts);
  const picked = new Picked(maxTokens, countTokens);
  const corrections = facts.filter(({ isCorrection }) => isCorrection);
  picked.takeWhile(corrections, Math.min(MAX_SURE_TOKENS, Math.floor(maxTokens * SURE_PART)));
  if (picked.takeWhile(summaryLines(document), maxTokens)) picked.takeWhile(facts, maxTokens);
  return picked.text();
}

/** The lines that are shown, in the order in which they were chosen, and their tokens. */
class Picked {
  private readonly lines = new Set<Line>();
  private readonly blocks = new Set<number>();
  private used = 0;

  constructor(
    private readonly maxTokens: number,
    private readonly countTokens: CountTokens,
  ) {}

  /** Takes lines up to the first that does not fit, of which it takes what can be cut; false when there was one. */
  takeWhile(lines: readonly Line[], upTo: number): boolean {
    for (const line of lines) {
      if (this.lines.has(line) || line.text() === '' || this.take(line, upTo)) continue;
      const cut = this.cut(line, upTo);
      if (cut !== undefined) this.take(cut, upTo);
      return false;
    }
    return true;
  }

  /** The lines below their headings, blocks with an empty line between. */
  text(): string {
    const lines = [...this.lines];
    for (;;) {
      const text = layOut(lines);
      // Tokens may reach over the end of a line, so that a whole can count more than its parts.
      if (lines.length === 0 || this.countTokens(text) <= this.maxTokens) return text;
      lines.pop();
    }
  }

  private take(line: Line, upTo: number): boolean {
    const tokens = this.tokensOf(line.block, line.text());
    if (this.used + tokens > upTo) return false;
    this.lines.add(line);
    this.blocks.add(line.block);
    this.used += tokens;
    return true;
  }

  private tokensOf(block: number, text: string): number {
    const heading = this.blocks.has(block) ? 0 : this.countTokens(`\n\n${HEADINGS[block]}\n`);
    return heading + this.countTokens(`${text}\n`);
  }

  private cut(line: Line, upTo: number): Line | undefined {
    const { block, cutTo } = line;
    if (cutTo === undefined) return undefined;
    const left = upTo - this.used;
    let text = line.text();
    for (let chars = text.length; ; ) {
      const tokens = this.tokensOf(block, text);
      if (tokens <= left) return { ...line, text: () => text };
      chars = Math.floor(Math.min(chars - 1, chars * (left / tokens) * CUT_MARGIN));
      if (chars < MIN_CUT_CHARS) return undefined;
      text = cutTo(chars);
    }
  }
}

function layOut(lines: readonly Line[]): string {
  const blocks = HEADINGS.flatMap((heading, block) => {
    const below = lines.filter((line) => line.block === block).sort((one, other) => one.order - other.order);
    return below.length === 0 ? [] : [[heading, ...below.map(({ text }) => text())].join('\n')];
  });
  return blocks.join('\n\n');
}
