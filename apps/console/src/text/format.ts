const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const numbers = new Intl.NumberFormat();

/** A point in time in the reader's time zone. @param time ISO 8601 or ms since 1970 */
export const formatTime = (time: string | number): string => dateTime.format(new Date(time));

export const formatCount = (count: number): string => numbers.format(count);

/**
 * An amount of money, with two significant digits at least: `$12.35`, `$0.000023`.
 *
 * @param currency ISO 4217; null, while no model has prices, for a plain number
 */
export const formatMoney = (amount: number, currency: string | null): string =>
  new Intl.NumberFormat(undefined, {
    ...(currency === null
      ? { minimumFractionDigits: 2, maximumFractionDigits: 2 }
      : { style: 'currency' as const, currency }),
    minimumSignificantDigits: 2,
    maximumSignificantDigits: 2,
    roundingPriority: 'morePrecision',
  }).format(amount);

/** A time span: `340 ms`, `2.4 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 1_440) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  const hours = Math.round(minutes / 60);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** A size: `340 B`, `1.4 KiB`, `3.2 MiB`. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log(bytes) / Math.log(1_024)));
  return `${power === 0 ? bytes : (bytes / 1_024 ** power).toFixed(1)} ${units[power]}`;
}
