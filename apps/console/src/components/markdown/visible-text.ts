/** Characters that change the direction of the text around them, with which a text can look like another one. */
const BIDI = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
/** Control characters that no text needs. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/gu;

/** A text whose hidden characters can be seen: those that change its direction by their codes. */
export const visibleText = (text: string): string =>
  text
    .replaceAll(BIDI, (char) => `⟦U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟧`)
    .replaceAll(CONTROLS, '�');
