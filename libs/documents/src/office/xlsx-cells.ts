import { descendants, type XmlElement } from './xml.js';

const DAY_MS = 86_400_000;
const ISO_DATE_CHARS = 10;
/** Day 0 of the two calendars of Excel, in ms since 1970; the 1900 one counts a nonexistent 29 February 1900. */
const EPOCH_1900_MS = Date.UTC(1899, 11, 30);
const EPOCH_1904_MS = Date.UTC(1904, 0, 1);
const MAX_SERIAL = 2_958_466;

/** Whether a built-in number format shows a date or a time (ECMA-376, 18.8.30). */
const isBuiltInDate = (id: number) => (id >= 14 && id <= 22) || (id >= 45 && id <= 47);

/** Whether a format code shows a date or time: it has such a letter outside quotes, escapes and brackets. */
export const showsDate = (code: string) => /[dmyhs]/i.test(code.replace(/"[^"]*"|\\.|_.|\[[^\]]*\]/g, ''));

/** Which cell styles (by index) show dates. */
export function dateStyles(styles: XmlElement): ReadonlySet<number> {
  const codes = new Map(
    [...descendants(styles, 'numFmt')].map(({ attributes }) => [
      Number(attributes.numFmtId),
      showsDate(attributes.formatCode ?? ''),
    ]),
  );
  const [cellFormats] = descendants(styles, 'cellXfs');
  const dates = (cellFormats?.children ?? []).flatMap(({ attributes }, style) => {
    const id = Number(attributes.numFmtId ?? 0);
    return (codes.get(id) ?? isBuiltInDate(id)) ? [style] : [];
  });
  return new Set(dates);
}

/** A serial day number as `YYYY-MM-DD`, with `HH:MM:SS` if it has a time; below one day the time alone. */
export function dateText(value: string, since1904: boolean): string {
  const serial = Number(value);
  if (!Number.isFinite(serial) || serial < 0 || serial > MAX_SERIAL) return value;
  const ms = Math.round(serial * (DAY_MS / 1000)) * 1000;
  const iso = new Date((since1904 ? EPOCH_1904_MS : EPOCH_1900_MS) + ms).toISOString();
  const time = iso.slice(ISO_DATE_CHARS + 1, -'.000Z'.length);
  if (ms > 0 && ms < DAY_MS) return time;
  return ms % DAY_MS === 0 ? iso.slice(0, ISO_DATE_CHARS) : `${iso.slice(0, ISO_DATE_CHARS)} ${time}`;
}

/** The column of a cell reference such as `AB12`, from 0; null for an invalid one. */
export function columnOf(reference: string | undefined): number | null {
  const letters = /^[A-Z]{1,3}/.exec(reference ?? '')?.[0];
  if (letters === undefined) return null;
  return Array.from(letters).reduce((column, letter) => column * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}
