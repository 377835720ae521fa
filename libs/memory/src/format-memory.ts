import type { MemoryDocument } from '@caribou/contracts';
import { factLines, HEADINGS, type Line, summaryLines } from './memory-lines.js';
import type { CountTokens } from './token-counter.js';

export interface FormatOptions {
  readonly maxTokens: number;
  readonly countTokens: CountTokens;
}

/** Share of the tokens that is reserved for corrections, up to `MAX_RESERVED_TOKENS` (DeerFlow: 500 of 2,000). */
const RESERVED_SHARE = 0.25;
const MAX_RESERVED_TOKENS = 500;
/** A shorter part of a summary is omitted. */
const MIN_CUT_CHARS = 40;
/** Shortens a cut slightly, which usually saves another count. */
const CUT_MARGIN = 0.95;

/**
 * Formats a memory for the prompt; '' when it is empty. Summaries come first, then facts by confidence up to the first
 * that does not fit, so that the least certain are omitted. Every text is one escaped line, so it cannot pass for
 * instructions.
 *
 * @param options the result has at most `maxTokens`, as `countTokens` counts
 */
export function formatMemory(document: MemoryDocument, { maxTokens, countTokens }: FormatOptions): string {
  const facts = factLines(document.facts);
  const selection = new LineSelection(maxTokens, countTokens);
  const corrections = facts.filter(({ isCorrection }) => isCorrection);
  selection.addWhileFitting(corrections, Math.min(MAX_RESERVED_TOKENS, Math.floor(maxTokens * RESERVED_SHARE)));
  if (selection.addWhileFitting(summaryLines(document), maxTokens)) selection.addWhileFitting(facts, maxTokens);
  return selection.text();
}

/** The selected lines, in the order of their selection, and their tokens. */
class LineSelection {
  private readonly lines = new Set<Line>();
  private readonly blocks = new Set<number>();
  private used = 0;

  constructor(
    private readonly maxTokens: number,
    private readonly countTokens: CountTokens,
  ) {}

  /** Adds lines up to the first that does not fit, which is shortened if possible; returns whether all fit. */
  addWhileFitting(lines: readonly Line[], upTo: number): boolean {
    for (const line of lines) {
      if (this.lines.has(line) || line.text() === '' || this.add(line, upTo)) continue;
      const cut = this.cut(line, upTo);
      if (cut !== undefined) this.add(cut, upTo);
      return false;
    }
    return true;
  }

  /** Formats the lines below their headings, with an empty line between blocks. */
  text(): string {
    const lines = [...this.lines];
    for (;;) {
      const text = layOut(lines);
      // A token may span the end of a line, so the whole can count more than the sum of its lines.
      if (lines.length === 0 || this.countTokens(text) <= this.maxTokens) return text;
      lines.pop();
    }
  }

  private add(line: Line, upTo: number): boolean {
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
