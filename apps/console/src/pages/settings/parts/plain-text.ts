/** Characters that change the order in which text is shown, so that it could pose as another one. */
const BIDI = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const MAX_SHOWN = 20_000;

/** A text of a model or a user as it may be shown: without bidi controls, and not endless. */
export function plainText(text: string, maxChars = MAX_SHOWN): string {
  const cleaned = text.slice(0, maxChars).replace(BIDI, '');
  return text.length > maxChars ? `${cleaned}…` : cleaned;
}
