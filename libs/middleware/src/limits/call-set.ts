import { createHash } from 'node:crypto';
import type { AiMessage, InvalidToolCall, ToolCall } from '@caribou/contracts';

/** What one answer asked for, short enough to be kept. */
export interface CallSet {
  /** Equal for sets that ask for the same, in whatever order; eight characters. */
  readonly hash: string;
  readonly tools: readonly ToolUse[];
}

/** A tool of a set and how often the set calls it. */
export interface ToolUse {
  readonly name: string;
  /** Stands for the name where it is kept; four characters. */
  readonly key: string;
  readonly count: number;
}

/** Lines of a file that count as the same place. */
const BUCKET_LINES = 200;
/** Any difference in their arguments is progress. */
const WHOLE_ARGUMENTS: ReadonlySet<string> = new Set(['write_file', 'str_replace']);
/** Arguments that say what a call is about; beside them, wording and limits do not make it another one. */
const SALIENT = ['path', 'url', 'query', 'command', 'pattern', 'glob', 'cmd'];

/** The calls of an answer, those with unreadable arguments too: they are asked for again in loops as well. */
export function callSetOf(message: AiMessage): CallSet {
  const calls = [...message.tool_calls, ...message.invalid_tool_calls];
  const keys = calls.map((call) => `${call.name}:${stableKey(call)}`).sort();
  const counts = new Map<string, number>();
  for (const { name } of calls) counts.set(name, (counts.get(name) ?? 0) + 1);
  const tools = [...counts].map(([name, count]) => ({ name, key: shortHash(name, 4), count }));
  return { hash: shortHash(JSON.stringify(keys), 8), tools };
}

/** What tells a call from another one of the same tool (behaviour.md §2.17). */
export function stableKey({ name, args }: ToolCall | InvalidToolCall): string {
  if (typeof args === 'string') return args;
  if (name === 'read_file' && typeof args['path'] === 'string') {
    const { path, start_line: first = 1, end_line: last } = args;
    return sortedJson([path, bucketOf(first), bucketOf(last)]);
  }
  const salient = WHOLE_ARGUMENTS.has(name) ? [] : SALIENT.filter((field) => isGiven(args[field]));
  return sortedJson(salient.length === 0 ? args : Object.fromEntries(salient.map((field) => [field, args[field]])));
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null && value !== '';

const bucketOf = (line: unknown): unknown =>
  typeof line === 'number' ? Math.floor((line - 1) / BUCKET_LINES) : (line ?? 'end');

/** JSON with the keys of every object in order. */
const sortedJson = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) => (isObject(part) ? inKeyOrder(part) : part));

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const inKeyOrder = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.keys(fields)
      .sort()
      .map((key) => [key, fields[key]]),
  );

const shortHash = (text: string, chars: number): string =>
  createHash('sha256').update(text).digest('base64url').slice(0, chars);
