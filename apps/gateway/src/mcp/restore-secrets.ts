import { InvalidRequestError, isRecord } from '@caribou/contracts';
import { MASK, redactSecrets } from './redact-secrets.js';

type Fields = Readonly<Record<string, unknown>>;

/** Fields that decide where secrets are sent: with a changed one, a masked secret would reach another recipient. */
const TARGET_FIELDS = ['type', 'transport', 'command', 'args', 'url'];

/**
 * Replaces each mask of a written server by the stored secret.
 *
 * @throws {InvalidRequestError} for a mask without a stored secret, or whose secret would be sent to another host or
 *   program; the message names the field
 */
export function restoreSecrets(name: string, written: Fields, stored: Fields | undefined): Fields {
  const shown = stored === undefined ? undefined : redactSecrets(stored);
  const restored = restoreFields(written, { shown, stored }, name);
  const masks = findMasks(written, '');
  const moved = stored === undefined ? undefined : TARGET_FIELDS.find((key) => !sameJson(restored[key], stored[key]));
  const [first] = masks;
  if (first !== undefined && moved !== undefined)
    throw new InvalidRequestError(`${name}.${first}: must be given again, as ${moved} has changed`);
  const token =
    isRecord(stored?.['oauth']) && isRecord(restored['oauth'])
      ? hasOtherTokenUrl(restored['oauth'], stored['oauth'])
      : false;
  const inOAuth = masks.find((path) => path.startsWith('oauth.'));
  if (inOAuth !== undefined && token)
    throw new InvalidRequestError(`${name}.${inOAuth}: must be given again, as oauth.token_url has changed`);
  return restored;
}

const hasOtherTokenUrl = (written: Fields, stored: Fields): boolean =>
  !sameJson(written['token_url'], stored['token_url']);

interface Before {
  readonly shown: unknown;
  readonly stored: unknown;
}

function restoreFields(written: Fields, before: Before, at: string): Fields {
  return Object.fromEntries(
    Object.entries(written).map(([key, value]) => [key, restoreValue(value, memberOf(before, key), `${at}.${key}`)]),
  );
}

function restoreValue(value: unknown, before: Before, at: string): unknown {
  if (typeof value === 'string' && value.includes(MASK)) {
    if (value !== before.shown) throw new InvalidRequestError(`${at}: the mask stands for no secret that is known`);
    return before.stored;
  }
  if (Array.isArray(value))
    return value.map((item: unknown, index) => restoreValue(item, memberOf(before, index), `${at}[${index}]`));
  return isRecord(value) ? restoreFields(value, before, at) : value;
}

/** The value under the key, as it was shown and as it is stored. */
const memberOf = ({ shown, stored }: Before, key: string | number): Before => ({
  shown: readMember(shown, key),
  stored: readMember(stored, key),
});

function readMember(value: unknown, key: string | number): unknown {
  if (typeof key === 'number') return Array.isArray(value) ? (value[key] as unknown) : undefined;
  return isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

function findMasks(value: unknown, at: string): readonly string[] {
  if (typeof value === 'string') return value.includes(MASK) ? [at] : [];
  const entries: readonly (readonly [string, unknown])[] = isRecord(value)
    ? Object.entries(value)
    : Array.isArray(value)
      ? value.map((item: unknown, index) => [String(index), item] as const)
      : [];
  return entries.flatMap(([key, item]) => findMasks(item, at === '' ? key : `${at}.${key}`));
}

export const sameJson = (left: unknown, right: unknown): boolean =>
  JSON.stringify(sortKeys(left)) === JSON.stringify(sortKeys(right));

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sortKeys(item)]));
}
