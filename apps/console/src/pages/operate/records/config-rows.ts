/** A setting: its path and its value as text. */
export interface SettingRow {
  readonly path: string;
  readonly value: string;
  /** The part of the configuration that says where it comes from. */
  readonly part: string;
}

/** Settings that a list shows at most; there are some hundreds. */
const MAX_ROWS = 5_000;

const isGroup = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Lists with plain values are one row. */
const isPlain = (value: unknown): boolean =>
  Array.isArray(value) ? value.every((item) => typeof item !== 'object' || item === null) : !isGroup(value);

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** The configuration as rows, in its order. */
export function settingRows(config: Readonly<Record<string, unknown>>): readonly SettingRow[] {
  const rows: SettingRow[] = [];
  const visit = (value: unknown, path: string, part: string): void => {
    if (rows.length >= MAX_ROWS || value === undefined) return;
    if (isPlain(value)) {
      rows.push({ path, part, value: textOf(value) });
      return;
    }
    const entries = Array.isArray(value)
      ? value.map((item: unknown, at) => [`${path}[${at}]`, item] as const)
      : Object.entries(value as object).map(([key, item]: [string, unknown]) => [`${path}.${key}`, item] as const);
    if (entries.length === 0) rows.push({ path, part, value: '{}' });
    for (const [at, item] of entries) visit(item, at, path === 'chain' ? at : part);
  };
  for (const [key, value] of Object.entries(config)) visit(value, key, key);
  return rows;
}

/** Rows whose path or value has all parts of the search, whatever their case. */
export function findSettings(rows: readonly SettingRow[], search: string): readonly SettingRow[] {
  const wanted = search.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter(({ path, value }) => {
    const text = `${path} ${value}`.toLowerCase();
    return wanted.every((part) => text.includes(part));
  });
}
