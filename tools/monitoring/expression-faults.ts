import type { MetricDescription } from '@caribou/observability';
import { parsePromql, type Selector } from './promql.js';

export interface KnownMetrics {
  readonly own: readonly MetricDescription[];
  /** Metrics of other exporters with their labels. */
  readonly foreign: Readonly<Record<string, readonly string[]>>;
}

/** Labels that Prometheus adds to every series, and ours. */
const COMMON = ['service', 'job', 'instance'];
const RANGE_FUNCTIONS: ReadonlySet<string> = new Set(['rate', 'increase', 'irate']);

/** What is wrong with an expression: its form, metrics and labels that do not exist, and rates of what does not count. */
export function expressionFaults(text: string, known: KnownMetrics): readonly string[] {
  let parsed: ReturnType<typeof parsePromql>;
  try {
    parsed = parsePromql(text);
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
  const labels = new Set<string>(COMMON);
  const faults = parsed.selectors.flatMap((selector) => {
    const series = seriesOf(selector.metric, known);
    for (const label of series?.labels ?? []) labels.add(label);
    return series === undefined ? [`there is no metric ${selector.metric}`] : selectorFaults(selector, series);
  });
  const groupings = parsed.groupings.filter((label) => !labels.has(label));
  return [...faults, ...groupings.map((label) => `no metric of the expression has the label ${label}`)];
}

interface Series {
  readonly labels: readonly string[];
  readonly counts: boolean;
}

function selectorFaults({ metric, labels, within, isRange }: Selector, series: Series): readonly string[] {
  const isRate = within !== undefined && RANGE_FUNCTIONS.has(within);
  return [
    ...labels
      .filter((label) => ![...COMMON, ...series.labels].includes(label))
      .map((label) => `${metric} has no label ${label}`),
    ...(isRate && !series.counts ? [`${metric} does not count: ${within} of it means nothing`] : []),
    ...(isRate === isRange ? [] : [`${metric} ${isRange ? 'has a range and no rate' : 'has no range'}`]),
    ...(series.counts && !isRate ? [`${metric} counts from the start of the process: take its rate`] : []),
  ];
}

/** The series of a name; a histogram has three. */
function seriesOf(name: string, { own, foreign }: KnownMetrics): Series | undefined {
  if (Object.hasOwn(foreign, name)) return { labels: foreign[name] ?? [], counts: false };
  const metric = own.find((one) => one.name === name);
  if (metric !== undefined && metric.type !== 'histogram')
    return { labels: metric.labels, counts: metric.type === 'counter' };
  const [, base, part] = /^(.+)_(bucket|sum|count)$/.exec(name) ?? [];
  const histogram = own.find((one) => one.name === base && one.type === 'histogram');
  if (histogram === undefined) return undefined;
  return { labels: part === 'bucket' ? [...histogram.labels, 'le'] : histogram.labels, counts: true };
}
