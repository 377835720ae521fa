import { defuseFrameworkTags, escapeMarkup } from '@caribou/core';

/**
 * What shows nothing and yet reaches a model: marks that turn the direction of writing, the copies of ASCII that once
 * tagged languages, selectors of rare variants. Joiners stay: words of some languages and many emoji are made with them.
 */
const HIDDEN =
  /[\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\u{e0000}-\u{e007f}\u{e0100}-\u{e01ef}]/gu;
const SPACE = /[\s\p{Cc}\u2028\u2029]+/gu;

/**
 * A remembered text as one line of a prompt. Whatever it holds, it neither ends its line nor opens or closes a section:
 * what follows it is ours, and what stands in its line is its own.
 */
export const oneLine = (text: string): string => defuseFrameworkTags(escapeMarkup(plainLine(text)));

/** The text without line breaks, control characters and what shows nothing. */
export const plainLine = (text: string): string =>
  text.replaceAll(SPACE, ' ').replaceAll(HIDDEN, '').replaceAll(/ {2,}/g, ' ').trim();
