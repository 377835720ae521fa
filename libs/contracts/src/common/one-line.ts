/** Characters that change the direction of the text after them. */
const bidiControls = /[\u202a-\u202e\u2066-\u2069]/g;

/** Puts text on one line without control characters, for titles in lists and terminals. */
export const oneLine = (text: string): string =>
  text
    .replace(bidiControls, '')
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim();
