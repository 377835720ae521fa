import { posix } from 'node:path';
import type { ToolCall } from '@caribou/contracts';

type Args = ToolCall['args'];

/** Names of arguments for files and directories, in the singular and the plural, as built-in tools and common MCP servers have them. */
const PATH_KEY =
  /(?:^|_)(?:(?:path|file|filename|filepath|dir|folder|source|src|destination|dest|dst|target)s?|director(?:y|ies))$/;
/** Names of arguments for addresses, whose texts need no `https://`. */
const ADDRESS_KEY = /(?:^|_)(?:url|uri|href|host|hostname|domain|endpoint)s?$/;
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

/**
 * The files and directories that a call names, without `.` and `..`: the texts of arguments for paths, and all `file:` URLs. Relative
 * paths stay relative, as only the tool knows what to.
 */
export const pathsOf = (args: Args): readonly string[] =>
  textsIn(args).flatMap(({ key, text }) => {
    const path = isFileUrl(text) ? pathIn(text.trim()) : PATH_KEY.test(key) && !isWebUrl(text) ? text.trim() : '';
    return path === '' ? [] : [withoutSlash(posix.normalize(path))];
  });

const withoutSlash = (path: string): string => (path.length > 1 ? path.replace(/\/$/, '') : path);

const isWebUrl = (text: string): boolean => /^https?:/i.test(text.trim());
const isFileUrl = (text: string): boolean => /^file:/i.test(text.trim());
const isUrl = (text: string): boolean => /^(?:https?:|[a-z][a-z0-9+.-]*:\/\/)/i.test(text.trim());

/** The path of a `file:` URL; one that cannot be read is given as it is, so that no rule takes it for a known path. */
function pathIn(url: string): string {
  try {
    return decodeURIComponent(new URL(url).pathname);
  } catch (error) {
    if (error instanceof TypeError || error instanceof URIError) return url;
    throw error;
  }
}

/** The hosts of a call: those of each text that is a URL, and of the texts of arguments for addresses. */
export const hostsOf = (args: Args): readonly string[] =>
  textsIn(args).flatMap(({ key, text }) => {
    const given = text.trim();
    if (isUrl(given)) return hostIn(given);
    if (!ADDRESS_KEY.test(key) || /\s/.test(given)) return [];
    return hostIn(given).length > 0 ? hostIn(given) : hostIn(`https://${given}`);
  });

function hostIn(url: string): readonly string[] {
  const host = URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, '').toLowerCase() : '';
  return host === '' ? [] : [host];
}
