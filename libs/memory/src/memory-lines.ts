import type { MemoryDocument, MemoryFact } from '@caribou/contracts';
import { oneLine, plainLine } from './one-line.js';

/** What the lines stand below, in this order. */
export const HEADINGS = ['User Context:', 'History:', 'Facts:'] as const;
const FACTS = 2;
const CUT_MARK = '...';

/** A line that may be shown. Its text is made when it is asked for: most facts of a large memory never are. */
export interface Line {
  /** Which of `HEADINGS` it stands below. */
  readonly block: number;
  /** Its place among all lines of the block. */
  readonly order: number;
  /** '' when there is nothing to show. */
  readonly text: () => string;
  /** The line with its words cut to this many characters; only summaries are cut. */
  readonly cutTo?: (chars: number) => string;
}

/** One line per summary that is not empty. */
export function summaryLines({ user, history }: MemoryDocument): readonly Line[] {
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
    return words === '' ? [] : [{ block, order, text: once(() => `- ${label}: ${oneLine(words)}`), cutTo }];
  });
}

/** The first characters, none of them a half of one. */
const wholeChars = (text: string, chars: number): string => text.slice(0, chars).replace(/[\ud800-\udbff]$/, '');

export interface FactLine extends Line {
  readonly isCorrection: boolean;
}

/** One line per fact: the most certain first; of two that are as certain the correction, then the newer one. */
export const factLines = (facts: readonly MemoryFact[]): readonly FactLine[] =>
  [...facts].sort(byWeight).map((fact, order) => ({
    block: FACTS,
    order,
    text: once(() => factText(fact)),
    isCorrection: isCorrection(fact),
  }));

function factText(fact: MemoryFact): string {
  const words = oneLine(fact.content);
  return words === '' ? '' : `- [${fact.category} | ${confidenceOf(fact).toFixed(2)}] ${words}`;
}

const isCorrection = ({ category }: MemoryFact): boolean => category === 'correction';

const byWeight = (one: MemoryFact, other: MemoryFact): number =>
  confidenceOf(other) - confidenceOf(one) ||
  Number(isCorrection(other)) - Number(isCorrection(one)) ||
  Number(other.createdAt > one.createdAt) - Number(other.createdAt < one.createdAt);

/** 0 to 1; 0 for what is no number. */
const confidenceOf = ({ confidence }: MemoryFact): number =>
  Number.isFinite(confidence) ? Math.min(1, Math.max(0, confidence)) : 0;

function once(make: () => string): () => string {
  let made: string | undefined;
  return () => (made ??= make());
}
