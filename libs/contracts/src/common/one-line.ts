/** Characters that change the direction of the text behind them. */
const bidiControls = /[\u202a-\u202e\u2066-\u2069]/g;

/** Text on one line without control characters, as titles are shown in lists and terminals. */
export const oneLine = (text: string): string =>
  text
    .replace(bidiControls, '')
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim();
