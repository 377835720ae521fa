const WORDS = ['NaN', 'Infinity', '-Infinity'];
const FIRST_LETTERS = new Set(WORDS.map((word) => word.charAt(0)));

/**
 * Replaces `NaN`, `Infinity` and `-Infinity`, which Python writes but JSON does not have, by `null`, except inside
 * strings.
 */
export function replaceNonFiniteNumbers(text: string): string {
  if (!/NaN|Infinity/.test(text)) return text;
  const parts: string[] = [];
  let from = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (inString && char === '\\') at += 1;
    else if (char === '"') inString = !inString;
    if (inString || !FIRST_LETTERS.has(char)) continue;
    const word = WORDS.find((one) => text.startsWith(one, at));
    if (word === undefined) continue;
    parts.push(text.slice(from, at), 'null');
    from = at + word.length;
    at = from - 1;
  }
  parts.push(text.slice(from));
  return parts.join('');
}
