/** Whether a text matches a pattern, in which `*` matches any characters and `\*` a literal star. */
export function matchesWildcard(pattern: string, text: string): boolean {
  const { first, between, last } = partsOf(pattern);
  if (last === undefined) return text === first;
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false;
  let at = first.length;
  for (const part of between) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= text.length - last.length;
}

interface PatternParts {
  readonly first: string;
  readonly between: readonly string[];
  /** The last part; undefined for a pattern without a star. */
  readonly last: string | undefined;
}

/** Cache of parsed patterns; bounded, as custom agents have rules of their own. */
const MAX_PARTED = 10_000;
const parted = new Map<string, PatternParts>();

function partsOf(pattern: string): PatternParts {
  const known = parted.get(pattern);
  if (known !== undefined) return known;
  const [first = '', ...rest] = pattern.split(/(?<!\\)\*/).map((part) => part.replaceAll('\\*', '*'));
  const parts = { first, between: rest.slice(0, -1), last: rest.at(-1) };
  if (parted.size >= MAX_PARTED) parted.clear();
  parted.set(pattern, parts);
  return parts;
}
