import { createHash } from 'node:crypto';
import { type AiMessage, type InvalidToolCall, isRecord, type ToolCall } from '@caribou/contracts';

/** A short fingerprint of one answer's tool calls. */
export interface CallSet {
  /** Equal for sets of the same calls in any order; eight characters. */
  readonly hash: string;
  readonly tools: readonly ToolUse[];
}

/** A tool of a set and how often the set calls it. */
export interface ToolUse {
  readonly name: string;
  /** Stored instead of the name; four characters. */
  readonly key: string;
  readonly count: number;
}

/** Lines of a file that count as the same position. */
const BUCKET_LINES = 200;
/** Tools for which any difference in the arguments is progress. */
const WHOLE_ARGUMENTS: ReadonlySet<string> = new Set(['write_file', 'str_replace']);
/** Arguments that identify a call; if they are present, differences in others are ignored. */
const SALIENT = ['path', 'url', 'query', 'command', 'pattern', 'glob', 'cmd'];

/** The calls of an answer, including those with invalid arguments, which are repeated in loops too. */
export function callSetOf(message: AiMessage): CallSet {
  const calls = [...message.tool_calls, ...message.invalid_tool_calls];
  const keys = calls.map((call) => `${call.name}:${stableKey(call)}`).sort();
  const counts = new Map<string, number>();
  for (const { name } of calls) counts.set(name, (counts.get(name) ?? 0) + 1);
  const tools = [...counts].map(([name, count]) => ({ name, key: shortHash(name, 4), count }));
  return { hash: shortHash(JSON.stringify(keys), 8), tools };
}

/** A key that distinguishes calls of the same tool. */
export function stableKey({ name, args }: ToolCall | InvalidToolCall): string {
  if (typeof args === 'string') return args;
  if (name === 'read_file' && typeof args['path'] === 'string') {
    const { path, start_line: first = 1, end_line: last } = args;
    return toSortedJson([path, bucketOf(first), bucketOf(last)]);
  }
  const salient = WHOLE_ARGUMENTS.has(name) ? [] : SALIENT.filter((field) => isGiven(args[field]));
  return toSortedJson(salient.length === 0 ? args : Object.fromEntries(salient.map((field) => [field, args[field]])));
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null && value !== '';

const bucketOf = (line: unknown): unknown =>
  typeof line === 'number' ? Math.floor((line - 1) / BUCKET_LINES) : (line ?? 'end');

/** JSON with the keys of every object in order. */
const toSortedJson = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) => (isRecord(part) ? inKeyOrder(part) : part));

const inKeyOrder = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.keys(fields)
      .sort()
      .map((key) => [key, fields[key]]),
  );

const shortHash = (text: string, chars: number): string =>
  createHash('sha256').update(text).digest('base64url').slice(0, chars);
