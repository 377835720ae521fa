const HIDDEN = '[redacted]';
const MAX_DEPTH = 4;
const MAX_TEXT = 8_192;

const secretName = /(api[-_]?key|access[-_]?key|token|secret|password|authorization|cookie|credentials?)$/i;

/** Patterns of secrets: bearer headers, provider keys, keys of this API, passwords in URLs. */
const secretTexts: readonly (readonly [RegExp, string])[] = [
  [/\b(bearer|basic)\s+[\w.~+/=-]{6,}/gi, `$1 ${HIDDEN}`],
  [/\b(sk|pk|rk|xox[a-z]|gh[a-z]|glpat|cbu)[-_][\w-]{8,}/g, HIDDEN],
  [/(\w+:\/\/[^\s:/@]*:)[^\s@]+@/g, `$1${HIDDEN}@`],
];

/** Matches each text that one of `secretTexts` can match. Nearly no text does, and one search is cheaper than three. */
const maybeSecret = /bearer|basic|[spr]k[-_]|xox|gh[a-z][-_]|glpat|cbu[-_]|:\/\//i;

/** Replaces what looks like a secret and cuts the text at 8,192 code units. */
export function redactText(text: string): string {
  const cut = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
  if (!maybeSecret.test(cut)) return cut;
  return secretTexts.reduce((seen, [pattern, shown]) => seen.replace(pattern, shown), cut);
}

/** Redacts fields with names of secrets and texts that look like secrets; omits values deeper than four levels. */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MAX_DEPTH) return '[deep]';
  if (Array.isArray(value)) return value.slice(0, 100).map((item) => redact(item, depth + 1));
  if (value instanceof Date) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, secretName.test(name) ? HIDDEN : redact(item, depth + 1)]),
  );
}
