/** The fields of a hash. `flat` is a reply of HGETALL or of a script: field, text, field, text, … */
export function hashOf(flat: unknown): ReadonlyMap<string, string> {
  const texts = flat as readonly string[];
  const hash = new Map<string, string>();
  for (let index = 0; index + 1 < texts.length; index += 2) hash.set(texts[index] ?? '', texts[index + 1] ?? '');
  return hash;
}

/** One field of such a reply. */
export function fieldOf(flat: unknown, field: string): string | undefined {
  const texts = flat as readonly string[];
  for (let index = 0; index + 1 < texts.length; index += 2) if (texts[index] === field) return texts[index + 1];
  return undefined;
}
