import type { UsageEntry } from '@caribou/contracts';

const COLUMNS = [
  ...['day', 'user', 'key', 'agent', 'model', 'calls', 'input_tokens', 'cached_input_tokens'],
  ...['cache_write_tokens', 'output_tokens', 'reasoning_tokens', 'cost'],
] as const;

/** Spreadsheets take a text that begins so for a formula. */
const FORMULA = /^[=+\-@\t\r]/;

/** One value of a row: quoted where it needs to be, and never a formula. */
function cell(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Usage as CSV with the columns that the entries have. */
export function usageCsv(entries: readonly UsageEntry[]): string {
  const [first] = entries;
  const columns = COLUMNS.filter((name) => first === undefined || name in first);
  const rows = entries.map((entry) => columns.map((name) => cell(entry[name])).join(','));
  return `${[columns.join(','), ...rows].join('\r\n')}\r\n`;
}
