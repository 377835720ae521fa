import { BugError } from '@caribou/contracts';
import { parseStored } from '../redis/stored-json.js';
import { unpackText } from './packed-text.js';
import type { StepText } from './step-text.js';

/** A part of a stored trace, as traces/trace.lua writes it. */
export interface TracePart {
  readonly kind: string;
  readonly ms: number;
  /** What follows the time, by kind. */
  readonly values: readonly string[];
  readonly text: string;
}

const LINE_END = 0x0a;

/** @throws {BugError} for a text that no version wrote */
export async function parsePart(stored: Buffer): Promise<TracePart> {
  const end = stored.indexOf(LINE_END);
  const line = (end === -1 ? stored : stored.subarray(0, end)).toString();
  const [kind = '', ms = '', ...values] = line.split(' ');
  if (!/^[a-z]$/.test(kind) || !/^\d+$/.test(ms))
    throw new BugError('the store holds a part of a trace that cannot be read');
  const text = end === -1 ? '' : await unpackText(stored.subarray(end + 1));
  return { kind, ms: Number(ms), values, text };
}

/** What a step says; nothing when its process passed no text. */
export const stepOf = ({ text }: TracePart): StepText => (text === '' ? {} : parseStored<StepText>(text));

/** Where the mark is that counts removed parts, as traces/trace.lua has it. */
export const MARK_AT = 64;

/** How many parts were removed, by the part at `MARK_AT`. */
export function removedBy(part: Buffer | null): number {
  const [, count] = /^n \d+ (\d+)$/.exec(part?.toString() ?? '') ?? [];
  return count === undefined ? 0 : Number(count);
}

/** The number of a part that is at `index`, which never changes; the mark has that of the first removed one. */
export const numberAt = (index: number, removed: number): number =>
  removed === 0 || index <= MARK_AT ? index : index + removed - 1;

/** The index of a part, or of the mark for a removed one. */
export function indexOf(number: number, removed: number): number {
  if (removed === 0 || number < MARK_AT) return number;
  return number < MARK_AT + removed ? MARK_AT : number - removed + 1;
}

/** Entries of one part; the numbers of entries in a trace are those of their part times this. */
export const ENTRIES_PER_PART = 1_000;
