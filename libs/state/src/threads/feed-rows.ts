import { parseStored } from '../redis/stored-json.js';

/** A row as `includes/feed.lua` writes it. */
interface StoredRow {
  readonly id: string;
  readonly entry: number;
  readonly run?: string;
  readonly at: string;
  readonly before?: number;
}

/** The compact form, described in `includes/feed-row.lua`. */
type CompactRow = readonly [id: string, entry: number, run: string | number, at: string | number];

/** What readers need of a row. */
export interface ParsedRow {
  readonly id: string;
  /** The entries of the log that it refers to; the first has the message. */
  readonly entries: readonly number[];
  /** The run that wrote it; as a number, the row that names the run; undefined for a client. */
  readonly run: string | number | undefined;
  /** ISO time at which it was written. */
  readonly at: string;
}

/** Parses a row in either form. @throws {BugError} when it is not JSON */
export function parseRow(text: string): ParsedRow {
  const row = parseStored<StoredRow | CompactRow>(text);
  if (!isCompact(row)) {
    const entries = row.before === undefined ? [row.entry] : [row.entry, row.before];
    return { id: row.id, entries, run: row.run, at: row.at };
  }
  const [id, entry, run, at] = row;
  return { id, entries: [entry], run: run === '' ? undefined : run, at: new Date(at).toISOString() };
}

const isCompact = (row: StoredRow | CompactRow): row is CompactRow => Array.isArray(row);

/** Whether a value of a feed's hash is a row; the others are numbers. */
export const isRow = (text: string): boolean => text.startsWith('{') || text.startsWith('[');
