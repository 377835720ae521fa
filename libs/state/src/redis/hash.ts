/** The fields of a hash. `flat` is a reply of HGETALL or of a script: field, text, field, text, … */
export function hashOf(flat: unknown): ReadonlyMap<string, string> {
  const texts = flat as readonly string[];
  const hash = new Map<string, string>();
  for (let index = 0; index + 1 < texts.length; index += 2) hash.set(texts[index] ?? '', texts[index + 1] ?? '');
  return hash;
}
