import { InvalidRequestError, isRecord } from '@caribou/contracts';
import { MASK, redactSecrets } from './redact-secrets.js';

type Fields = Readonly<Record<string, unknown>>;

/** What decides where secrets go: changed together with a mask, they would go to somebody else. */
const PLACES = ['type', 'transport', 'command', 'args', 'url'];

/**
 * Replaces each mask of a written server by the stored secret.
 *
 * @throws {InvalidRequestError} for a mask where no secret was, or whose secret would be sent to another host or program;
 *   it names the field
 */
export function restoreSecrets(name: string, written: Fields, kept: Fields | undefined): Fields {
  const shown = kept === undefined ? undefined : redactSecrets(kept);
  const restored = restore(written, { shown, kept }, name);
  const masks = placesOfMasks(written, '');
  const moved = kept === undefined ? undefined : PLACES.find((key) => !sameJson(restored[key], kept[key]));
  const [first] = masks;
  if (first !== undefined && moved !== undefined)
    throw new InvalidRequestError(`${name}.${first}: must be given anew, as ${moved} is another one`);
  const token =
    isRecord(kept?.['oauth']) && isRecord(restored['oauth']) ? movedToken(restored['oauth'], kept['oauth']) : false;
  const inOAuth = masks.find((place) => place.startsWith('oauth.'));
  if (inOAuth !== undefined && token)
    throw new InvalidRequestError(`${name}.${inOAuth}: must be given anew, as oauth.token_url is another one`);
  return restored;
}

const movedToken = (written: Fields, kept: Fields): boolean => !sameJson(written['token_url'], kept['token_url']);

interface Before {
  readonly shown: unknown;
  readonly kept: unknown;
}

function restore(written: Fields, before: Before, at: string): Fields {
  return Object.fromEntries(
    Object.entries(written).map(([key, value]) => [key, restored(value, part(before, key), `${at}.${key}`)]),
  );
}

function restored(value: unknown, before: Before, at: string): unknown {
  if (typeof value === 'string' && value.includes(MASK)) {
    if (value !== before.shown) throw new InvalidRequestError(`${at}: the mask stands for no secret that is known`);
    return before.kept;
  }
  if (Array.isArray(value))
    return value.map((item: unknown, index) => restored(item, part(before, index), `${at}[${index}]`));
  return isRecord(value) ? restore(value, before, at) : value;
}

/** What stood under the key, as it was shown and as it is kept. */
const part = ({ shown, kept }: Before, key: string | number): Before => ({
  shown: inside(shown, key),
  kept: inside(kept, key),
});

function inside(value: unknown, key: string | number): unknown {
  if (typeof key === 'number') return Array.isArray(value) ? (value[key] as unknown) : undefined;
  return isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

function placesOfMasks(value: unknown, at: string): readonly string[] {
  if (typeof value === 'string') return value.includes(MASK) ? [at] : [];
  const entries: readonly (readonly [string, unknown])[] = isRecord(value)
    ? Object.entries(value)
    : Array.isArray(value)
      ? value.map((item: unknown, index) => [String(index), item] as const)
      : [];
  return entries.flatMap(([key, item]) => placesOfMasks(item, at === '' ? key : `${at}.${key}`));
}

export const sameJson = (left: unknown, right: unknown): boolean =>
  JSON.stringify(inOrder(left)) === JSON.stringify(inOrder(right));

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, inOrder(item)]));
}
