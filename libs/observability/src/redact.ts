const HIDDEN = '[redacted]';
const MAX_DEPTH = 4;
const MAX_ITEMS = 100;
const MAX_TEXT = 8_192;
/** The shortest text that has a secret is `a://:b@`. */
const MIN_SECRET = 7;

const secretName = /(api[-_]?key|access[-_]?key|token|secret|password|authorization|cookie|credentials?)$/i;

/** Patterns of secrets: bearer headers, provider keys, keys of this API, passwords in URLs. */
const secretTexts: readonly (readonly [RegExp, string])[] = [
  [/\b(bearer|basic)\s+[\w.~+/=-]{6,}/gi, `$1 ${HIDDEN}`],
  [/\b(sk|pk|rk|xox[a-z]|gh[a-z]|glpat|cbu)[-_][\w-]{8,}/g, HIDDEN],
  [/(\w+:\/\/[^\s:/@]*:)[^\s@]+@/g, `$1${HIDDEN}@`],
];

/** Matches each text that one of `secretTexts` can match. Nearly no text does, and one search is cheaper than three. */
const maybeSecret = /bearer|basic|[spr]k[-_]|xox|gh[a-z][-_]|glpat|cbu[-_]|:\/\//i;

const hasNoSecret = (text: string): boolean => text.length < MIN_SECRET || !maybeSecret.test(text);

/** Replaces what looks like a secret and cuts the text at 8,192 code units. */
export function redactText(text: string): string {
  const cut = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
  if (hasNoSecret(cut)) return cut;
  return secretTexts.reduce((seen, [pattern, shown]) => seen.replace(pattern, shown), cut);
}

/** Redacts fields with names of secrets and texts that look like secrets; omits values deeper than four levels. */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'bigint') return value.toString();
  // JSON has none, and would call one with the name toJSON.
  if (typeof value === 'function') return undefined;
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MAX_DEPTH) return '[deep]';
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item) => redact(item, depth + 1));
  if (value instanceof Date) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, secretName.test(name) ? HIDDEN : redact(item, depth + 1)]),
  );
}

/**
 * Whether a value has the JSON of what `redact` returns for it, which is found without a copy. Some values that have it too, such as times,
 * are not recognized.
 */
export function isClean(value: unknown, depth = 0): boolean {
  if (typeof value === 'string') return value.length <= MAX_TEXT && hasNoSecret(value);
  if (typeof value !== 'object' || value === null) return typeof value !== 'bigint' && typeof value !== 'function';
  if (depth >= MAX_DEPTH || 'toJSON' in value) return false;
  if (Array.isArray(value)) return value.length <= MAX_ITEMS && value.every((item) => isClean(item, depth + 1));
  if (value.constructor !== Object) return false;
  return Object.entries(value).every(([name, item]) => !secretName.test(name) && isClean(item, depth + 1));
}
