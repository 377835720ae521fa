import type { MemoryDocument, MemoryFact } from '@caribou/contracts';
import { oneLine, plainLine } from './one-line.js';
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
const CUT_MARK = '...';

const HEADINGS = ['User Context:', 'History:', 'Facts:'] as const;
const FACTS = 2;

interface Line {
  /** Which of `HEADINGS` it stands below. */
  readonly block: number;
  /** Its place among all lines. */
  readonly order: number;
  readonly text: string;
  /** The line with its words cut to this many characters; only summaries are cut. */
  readonly cutTo?: (chars: number) => string;
}

/**
 * What is remembered, as the agent is shown it; '' when there is nothing. Summaries come first, then facts by
 * confidence, until the first that does not fit: so what is left out is what is least certain. Every text is one line
 * and escaped, so it is data wherever it stands.
 *
 * @param options `maxTokens` is never exceeded, as `countTokens` counts
 */
export function formatMemory(document: MemoryDocument, { maxTokens, countTokens }: FormatOptions): string {
  const summaries = summaryLines(document);
  const facts = factLines(document.facts);
  const picked = new Picked(maxTokens, countTokens);

  const sureTokens = Math.min(MAX_SURE_TOKENS, Math.floor(maxTokens * SURE_PART));
  picked.takeWhile(
    facts.filter(({ fact }) => fact.category === 'correction').map(({ line }) => line),
    sureTokens,
  );
  if (picked.takeWhile(summaries, maxTokens)) {
    picked.takeWhile(
      facts.map(({ line }) => line),
      maxTokens,
    );
  }
  return picked.text();
}

function summaryLines({ user, history }: MemoryDocument): readonly Line[] {
  const rows: readonly (readonly [number, string, string])[] = [
    [0, 'Work', user.workContext.summary],
    [0, 'Personal', user.personalContext.summary],
    [0, 'Current Focus', user.topOfMind.summary],
    [1, 'Recent', history.recentMonths.summary],
    [1, 'Earlier', history.earlierContext.summary],
    [1, 'Background', history.longTermBackground.summary],
  ];
  return rows.flatMap(([block, label, summary], order) => {
    const words = plainLine(summary);
    const cutTo = (chars: number): string => `- ${label}: ${oneLine(wholeChars(words, chars))}${CUT_MARK}`;
    return words === '' ? [] : [{ block, order, text: `- ${label}: ${oneLine(words)}`, cutTo }];
  });
}

/** The first characters, none of them a half of one. */
const wholeChars = (text: string, chars: number): string => text.slice(0, chars).replace(/[\ud800-\udbff]$/, '');

function factLines(facts: readonly MemoryFact[]): readonly { readonly fact: MemoryFact; readonly line: Line }[] {
  return [...facts].sort(byWeight).flatMap((fact, order) => {
    const words = oneLine(fact.content);
    const text = `- [${fact.category} | ${confidenceOf(fact).toFixed(2)}] ${words}`;
    return words === '' ? [] : [{ fact, line: { block: FACTS, order, text } }];
  });
}

/** The most certain first; of two that are as certain the correction, then the newer one. */
const byWeight = (one: MemoryFact, other: MemoryFact): number =>
  confidenceOf(other) - confidenceOf(one) ||
  Number(other.category === 'correction') - Number(one.category === 'correction') ||
  other.createdAt.localeCompare(one.createdAt);

/** 0 to 1; 0 for what is no number. */
const confidenceOf = ({ confidence }: MemoryFact): number =>
  Number.isFinite(confidence) ? Math.min(1, Math.max(0, confidence)) : 0;

/** The lines that are shown, in the order in which they were chosen, and their tokens. */
class Picked {
  private readonly lines: Line[] = [];
  private readonly blocks = new Set<number>();
  private used = 0;

  constructor(
    private readonly maxTokens: number,
    private readonly countTokens: CountTokens,
  ) {}

  /** Takes lines up to the first that does not fit, of which it takes what can be cut; false when there was one. */
  takeWhile(lines: readonly Line[], upTo: number): boolean {
    for (const line of lines) {
      if (this.lines.includes(line)) continue;
      if (this.take(line, upTo)) continue;
      const cut = this.cut(line, upTo);
      if (cut !== undefined) this.take(cut, upTo);
      return false;
    }
    return true;
  }

  /** The lines below their headings, blocks with an empty line between. */
  text(): string {
    for (;;) {
      const text = layOut(this.lines);
      // Tokens may reach over the end of a line, so that a whole can count more than its parts.
      if (this.lines.length === 0 || this.countTokens(text) <= this.maxTokens) return text;
      this.lines.pop();
    }
  }

  private take(line: Line, upTo: number): boolean {
    const tokens = this.tokensOf(line);
    if (this.used + tokens > upTo) return false;
    this.lines.push(line);
    this.blocks.add(line.block);
    this.used += tokens;
    return true;
  }

  private tokensOf({ block, text }: Line): number {
    const heading = this.blocks.has(block) ? 0 : this.countTokens(`\n\n${HEADINGS[block]}\n`);
    return heading + this.countTokens(`${text}\n`);
  }

  private cut(line: Line, upTo: number): Line | undefined {
    let { text } = line;
    for (let chars = text.length; line.cutTo !== undefined; ) {
      const tokens = this.tokensOf({ ...line, text });
      const left = upTo - this.used;
      if (tokens <= left) return { ...line, text };
      chars = Math.floor(Math.min(chars - 1, chars * (left / tokens) * CUT_MARGIN));
      if (chars < MIN_CUT_CHARS) return undefined;
      text = line.cutTo(chars);
    }
    return undefined;
  }
}

function layOut(lines: readonly Line[]): string {
  const blocks = HEADINGS.flatMap((heading, block) => {
    const below = lines.filter((line) => line.block === block).sort((one, other) => one.order - other.order);
    return below.length === 0 ? [] : [[heading, ...below.map(({ text }) => text)].join('\n')];
  });
  return blocks.join('\n\n');
}
