/** Characters that change the direction of what follows, so that a text looks like another one. */
const DIRECTIONS = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;

/** A text with such characters by their numbers. */
export const showDirections = (text: string): string =>
  text.replaceAll(DIRECTIONS, (found) => `⟨U+${found.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`);
