import type { Category, Fact, Memory } from './api.js';

export const CATEGORIES: readonly Category[] = ['preference', 'knowledge', 'context', 'behavior', 'goal', 'correction'];

/** The agent whose memory is the person's own. */
export const OWN_AGENT = 'lead_agent';

export interface FactFilter {
  /** Empty: all. */
  readonly category: Category | '';
  readonly text: string;
}

/** The facts of a category that have all parts of the text, which spaces separate; the newest first. */
export function filterFacts(facts: readonly Fact[], { category, text }: FactFilter): readonly Fact[] {
  const parts = text.toLowerCase().split(/\s+/).filter(Boolean);
  return facts
    .filter((fact) => category === '' || fact.category === category)
    .filter(({ content }) => parts.every((part) => content.toLowerCase().includes(part)))
    .toSorted((one, other) => Date.parse(other.createdAt) - Date.parse(one.createdAt));
}

export interface Summary {
  readonly name: SummaryName;
  readonly text: string;
  /** Empty: never. */
  readonly updatedAt: string;
}

export type SummaryName = keyof Memory['user'] | keyof Memory['history'];

/** The summaries of a memory that have a text, in the order in which they are shown to agents. */
export const summariesOf = ({ user, history }: Memory): readonly Summary[] =>
  (Object.entries({ ...user, ...history }) as [SummaryName, { summary: string; updatedAt: string }][])
    .filter(([, { summary }]) => summary !== '')
    .map(([name, { summary, updatedAt }]) => ({ name, text: summary, updatedAt }));

/** Where a fact comes from: a thread, or how it was entered. */
export const threadOf = ({ source }: Pick<Fact, 'source'>): string | null =>
  source === 'manual' || source === 'unknown' ? null : source;

/** A file that may be imported is at most as large as the body of a request by default. */
const MAX_IMPORT_BYTES = 4 * 1024 * 1024;

/** The memory in the text of a file. @throws {Error} with what is wrong with the file */
export function parseMemoryFile(text: string): Readonly<Record<string, unknown>> {
  if (text.length > MAX_IMPORT_BYTES) throw new Error(`the file is larger than ${MAX_IMPORT_BYTES} bytes`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error('the file is not JSON', { cause: error });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('the file is not the export of a memory');
  return value as Readonly<Record<string, unknown>>;
}
