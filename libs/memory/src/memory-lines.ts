import type { MemoryDocument, MemoryFact } from '@caribou/contracts';
import { toPromptLine, toPlainLine } from './prompt-line.js';

/** Headings of the blocks, in their order. */
export const HEADINGS = ['User Context:', 'History:', 'Facts:'] as const;
const FACTS = 2;
const CUT_MARK = '...';

/** A line of the prompt. Its text is built on demand: most facts of a large memory do not fit. */
export interface Line {
  /** Index of its heading in `HEADINGS`. */
  readonly block: number;
  /** Its position among all lines of the block. */
  readonly order: number;
  /** '' when there is nothing to show. */
  readonly text: () => string;
  /** Shortens the text to this many characters; only summaries can be shortened. */
  readonly cutTo?: (chars: number) => string;
}

/** Creates one line per summary that is not empty. */
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
    const plain = toPlainLine(summary);
    const cutTo = (chars: number): string => `- ${label}: ${toPromptLine(cutChars(plain, chars))}${CUT_MARK}`;
    return plain === '' ? [] : [{ block, order, text: memoize(() => `- ${label}: ${toPromptLine(plain)}`), cutTo }];
  });
}

/** Cuts a text without splitting a surrogate pair. */
const cutChars = (text: string, chars: number): string => text.slice(0, chars).replace(/[\ud800-\udbff]$/, '');

export interface FactLine extends Line {
  readonly isCorrection: boolean;
}

/** Creates one line per fact: the most certain first, corrections and then newer facts first among equals. */
export const factLines = (facts: readonly MemoryFact[]): readonly FactLine[] =>
  [...facts].sort(byWeight).map((fact, order) => ({
    block: FACTS,
    order,
    text: memoize(() => factText(fact)),
    isCorrection: isCorrection(fact),
  }));

function factText(fact: MemoryFact): string {
  const content = toPromptLine(fact.content);
  return content === '' ? '' : `- [${fact.category} | ${confidenceOf(fact).toFixed(2)}] ${content}`;
}

const isCorrection = ({ category }: MemoryFact): boolean => category === 'correction';

const byWeight = (one: MemoryFact, other: MemoryFact): number =>
  confidenceOf(other) - confidenceOf(one) ||
  Number(isCorrection(other)) - Number(isCorrection(one)) ||
  Number(other.createdAt > one.createdAt) - Number(other.createdAt < one.createdAt);

/** Clamps the confidence to 0 to 1; 0 when it is not a finite number. */
const confidenceOf = ({ confidence }: MemoryFact): number =>
  Number.isFinite(confidence) ? Math.min(1, Math.max(0, confidence)) : 0;

function memoize(create: () => string): () => string {
  let created: string | undefined;
  return () => (created ??= create());
}
