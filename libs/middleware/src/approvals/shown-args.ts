import { isRecord, type ToolCall } from '@caribou/contracts';

type Args = ToolCall['args'];

/** Bytes of the arguments in a question; what surrounds them has room below the limit of an interrupt. */
const MAX_SHOWN_BYTES = 24 * 1024;
/** Characters of one text when arguments are cut, from the longest to the shortest that is tried. */
const CUTS = [4_000, 1_000, 200, 40];

/** Arguments as a person sees them. */
export interface ShownArgs {
  readonly args: Args;
  /** Whether long texts were cut. */
  readonly isCut: boolean;
}

/** Cuts long texts so that the arguments have at most `maxBytes` as JSON. */
export function shownArgs(args: Args, maxBytes = MAX_SHOWN_BYTES): ShownArgs {
  if (bytesOf(args) <= maxBytes) return { args, isCut: false };
  for (const maxChars of CUTS) {
    const cut = cutTexts(args, maxChars);
    if (isRecord(cut) && bytesOf(cut) <= maxBytes) return { args: cut, isCut: true };
  }
  return { args: { note: `the arguments have ${bytesOf(args)} bytes, too many to show` }, isCut: true };
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');

function cutTexts(value: unknown, maxChars: number): unknown {
  if (typeof value === 'string')
    return value.length <= maxChars
      ? value
      : `${value.slice(0, maxChars).replace(/[\uD800-\uDBFF]$/, '')}… (${value.length - maxChars} more characters)`;
  if (Array.isArray(value)) return value.map((item) => cutTexts(item, maxChars));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, cutTexts(item, maxChars)]));
}
