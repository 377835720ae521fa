import { isRecord } from '@caribou/contracts';
import { Secret } from '../common/secret.js';
import type { Config } from './config.js';

const SECRET = '[secret]';
const VARIABLE = '[value of a variable]';
const HIDDEN = '[hidden]';

/**
 * Fields whose content the schema leaves open, such as what is added to the requests of a model: operators may have put a
 * key into any of them. Their names are shown, their values are not.
 */
const OPEN_FIELDS: ReadonlySet<string> = new Set([
  ...['models.body', 'models.query', 'models.headers'],
  ...['models.whenThinkingEnabled', 'models.whenThinkingDisabled'],
  'chain.extensions.middlewares.options',
]);

/** A variable that is at least this long is found within other texts too, such as a URL; shorter ones only as the whole text. */
const MIN_FOUND_CHARS = 8;

/**
 * The configuration as people may see it. Hidden are secrets by their type, all values that come from variables which the
 * file refers to, values of open fields, and the user, password, query and fragment of URLs.
 */
export function maskConfig({ origins, ...config }: Config): Readonly<Record<string, unknown>> {
  const mask = masking(origins.referenced.reveal());
  return Object.fromEntries(Object.entries(config).map(([key, value]) => [key, mask(value, key)]));
}

/** Returns the function that masks a value; indices of lists are not part of its path. */
function masking(referenced: readonly string[]): (value: unknown, path: string) => unknown {
  const mask = (value: unknown, path: string): unknown => {
    if (value instanceof Secret) return SECRET;
    if (OPEN_FIELDS.has(path)) return hideValues(value);
    if (typeof value === 'string') return isReferenced(value, referenced) ? VARIABLE : maskUrl(value);
    if (Array.isArray(value)) return value.map((item) => mask(item, path));
    if (!isRecord(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mask(item, `${path}.${key}`)]));
  };
  return mask;
}

const isReferenced = (text: string, referenced: readonly string[]): boolean =>
  referenced.some((value) => text === value || (value.length >= MIN_FOUND_CHARS && text.includes(value)));

/** Booleans and nothing cannot be a secret. */
function hideValues(value: unknown): unknown {
  if (value === null || value === undefined || typeof value === 'boolean') return value;
  if (value instanceof Secret) return SECRET;
  if (Array.isArray(value)) return value.map(hideValues);
  if (isRecord(value)) return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, hideValues(item)]));
  return HIDDEN;
}

function maskUrl(text: string): string {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text) || !URL.canParse(text)) return text;
  const url = new URL(text);
  if ([url.username, url.password, url.search, url.hash].every((part) => part === '')) return text;
  const query = url.search === '' && url.hash === '' ? '' : '?[hidden]';
  const user = url.username === '' && url.password === '' ? '' : '[hidden]@';
  return `${url.protocol}//${user}${url.host}${url.pathname}${query}`;
}
