import { posix } from 'node:path';
import type { ToolCall } from '@caribou/contracts';

type Args = ToolCall['args'];

/** Arguments that name files, as built-in tools and common MCP servers call them. */
const PATH_KEY = /(?:^|_)(?:path|paths|file|files|filename|filepath|directory|dir|source|destination|target)$/;
/** Arguments that name an address even without `https://`. */
const ADDRESS_KEY = /(?:^|_)(?:url|urls|uri|href|host|hostname|domain|endpoint)$/;
/** Deeper values are not looked at. */
const MAX_DEPTH = 8;

const inSnakeCase = (key: string): string => key.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase();

interface NamedText {
  /** The key that holds the text, directly or in a list. */
  readonly key: string;
  readonly text: string;
}

function textsIn(value: unknown, key = '', depth = 0): readonly NamedText[] {
  if (typeof value === 'string') return [{ key, text: value }];
  if (typeof value !== 'object' || value === null || depth >= MAX_DEPTH) return [];
  if (Array.isArray(value)) return value.flatMap((item) => textsIn(item, key, depth + 1));
  return Object.entries(value).flatMap(([name, item]) => textsIn(item, inSnakeCase(name), depth + 1));
}

/** The files and directories that a call names, without `.` and `..`. */
export const pathsOf = (args: Args): readonly string[] =>
  textsIn(args)
    .filter(({ key, text }) => PATH_KEY.test(key) && text !== '' && !isUrl(text))
    .map(({ text }) => withoutSlash(posix.normalize(text.trim())));

const withoutSlash = (path: string): string => (path.length > 1 ? path.replace(/\/$/, '') : path);

const isUrl = (text: string): boolean => /^https?:\/\//i.test(text.trim());

/** The hosts of the URLs that a call has: of each text that is one, and of the arguments for addresses. */
export const hostsOf = (args: Args): readonly string[] =>
  textsIn(args).flatMap(({ key, text }) => {
    if (isUrl(text)) return hostIn(text);
    return ADDRESS_KEY.test(key) && !/\s/.test(text.trim()) ? hostIn(`https://${text.trim()}`) : [];
  });

function hostIn(url: string): readonly string[] {
  if (!URL.canParse(url.trim())) return [];
  return [new URL(url.trim()).hostname.replace(/\.$/, '')];
}
