import type { UsageEntry } from '@caribou/contracts';

export type UsageMetric = 'cost' | 'tokens' | 'calls';
export type UsageBy = 'user' | 'key' | 'agent' | 'model';

/** What the page says of names that are none. */
export interface SeriesTexts {
  readonly noKey: string;
  readonly others: string;
}

/** One line of a chart: a value for each day. */
export interface UsageLine {
  readonly name: string;
  readonly values: readonly number[];
}

export interface UsageChartData {
  readonly days: readonly string[];
  readonly lines: readonly UsageLine[];
}

/** Lines of a chart; what is less is joined to one. */
const MAX_LINES = 6;
const DAY_MS = 86_400_000;

export const metricOf = (entry: Omit<UsageEntry, 'day'>, metric: UsageMetric): number => {
  switch (metric) {
    case 'cost':
      return entry.cost;
    case 'tokens':
      return entry.input_tokens + entry.output_tokens;
    case 'calls':
      return entry.calls;
  }
};

export const nameOf = (entry: UsageEntry, by: UsageBy, { noKey }: Pick<SeriesTexts, 'noKey'>): string =>
  entry[by] ?? noKey;

/** The days from the first to the last, also those without usage. */
export function daysBetween(from: string, to: string): readonly string[] {
  const [first, last] = [Date.parse(from), Date.parse(to)];
  const count = Math.max(0, Math.round((last - first) / DAY_MS) + 1);
  return Array.from({ length: count }, (_, at) => new Date(first + at * DAY_MS).toISOString().slice(0, 10));
}

interface ChartOptions {
  readonly days: readonly string[];
  readonly by: UsageBy;
  readonly metric: UsageMetric;
  readonly texts: SeriesTexts;
}

/** The highest lines of entries by day and another group, and one of all others. */
export function usageChart(entries: readonly UsageEntry[], { days, by, metric, texts }: ChartOptions): UsageChartData {
  const indexOf = new Map(days.map((day, index) => [day, index]));
  const sums = new Map<string, number[]>();
  for (const entry of entries) {
    const index = indexOf.get(entry.day ?? '');
    if (index === undefined) continue;
    const name = nameOf(entry, by, texts);
    const values = sums.get(name) ?? days.map(() => 0);
    values[index] = (values[index] ?? 0) + metricOf(entry, metric);
    sums.set(name, values);
  }
  const ranked = [...sums].map(([name, values]) => ({ name, values, total: sum(values) }));
  ranked.sort((one, other) => other.total - one.total || (one.name < other.name ? -1 : 1));
  const [shown, rest] = [ranked.slice(0, MAX_LINES), ranked.slice(MAX_LINES)];
  const lines = shown.map(({ name, values }) => ({ name, values }));
  if (rest.length === 0) return { days, lines };
  const others = days.map((_, at) => sum(rest.map(({ values }) => values[at] ?? 0)));
  return { days, lines: [...lines, { name: texts.others, values: others }] };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

type Counts = Omit<UsageEntry, 'day' | UsageBy>;

/** A row of the table: one name with the sums of all days. */
export interface UsageTotal extends Counts {
  readonly name: string;
}

const NOTHING: Counts = {
  calls: 0,
  ...{ input_tokens: 0, cached_input_tokens: 0, cache_write_tokens: 0, output_tokens: 0, reasoning_tokens: 0 },
  cost: 0,
};

const add = (one: Counts, other: Counts): Counts => ({
  calls: one.calls + other.calls,
  input_tokens: one.input_tokens + other.input_tokens,
  cached_input_tokens: one.cached_input_tokens + other.cached_input_tokens,
  cache_write_tokens: one.cache_write_tokens + other.cache_write_tokens,
  output_tokens: one.output_tokens + other.output_tokens,
  reasoning_tokens: one.reasoning_tokens + other.reasoning_tokens,
  cost: one.cost + other.cost,
});

/** The sums by name, the highest first. */
export function usageTotals(
  entries: readonly UsageEntry[],
  { by, metric, texts }: Pick<ChartOptions, 'by' | 'metric' | 'texts'>,
): readonly UsageTotal[] {
  const sums = new Map<string, Counts>();
  for (const entry of entries) {
    const name = nameOf(entry, by, texts);
    sums.set(name, add(sums.get(name) ?? NOTHING, entry));
  }
  return [...sums]
    .map(([name, counts]) => ({ name, ...counts }))
    .sort((one, other) => metricOf(other, metric) - metricOf(one, metric) || (one.name < other.name ? -1 : 1));
}
