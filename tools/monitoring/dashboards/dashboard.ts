/** Units of Grafana. */
export type Unit = 'short' | 's' | 'bytes' | 'percentunit' | 'reqps' | 'ops' | 'none';

export interface Query {
  readonly expr: string;
  /** Name of each line, with labels as `{{label}}`. */
  readonly legend: string;
}

export interface Panel {
  readonly title: string;
  readonly about: string;
  readonly unit: Unit;
  readonly kind?: 'timeseries' | 'stat';
  readonly isStacked?: boolean;
  readonly queries: readonly Query[];
}

export interface Dashboard {
  /** Name of the file, and part of the address in Grafana. */
  readonly name: string;
  readonly title: string;
  readonly rows: readonly { readonly title: string; readonly panels: readonly Panel[] }[];
}

const COLUMNS = 24;
const HEIGHT = 8;
const STAT_HEIGHT = 4;
const SOURCE = { type: 'prometheus', uid: '${datasource}' };

/** A series of the chosen jobs. @param matchers such as `kind="runs"` */
export const series = (metric: string, matchers = ''): string =>
  `${metric}{job=~"$job"${matchers === '' ? '' : `, ${matchers}`}}`;

/** What counters count in a second, summed by labels. */
export const rateBy = (by: string, metric: string, matchers = ''): string =>
  `sum by (${by}) (rate(${series(metric, matchers)}[$__rate_interval]))`;

/** Lines for the median and the 99th percentile of a histogram. */
export const percentiles = (histogram: string, by = ''): readonly Query[] =>
  [0.5, 0.99].map((share) => ({
    expr: `histogram_quantile(${share}, sum by (${['le', by].filter(Boolean).join(', ')}) (rate(${series(`${histogram}_bucket`)}[$__rate_interval])))`,
    legend: `p${share * 100}${by === '' ? '' : ` {{${by}}}`}`,
  }));

/** The dashboard as a file that Grafana imports. */
export function renderDashboard({ name, title, rows }: Dashboard): string {
  const panels: object[] = [];
  let y = 0;
  for (const row of rows) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title: row.title,
      collapsed: false,
      panels: [],
      gridPos: { h: 1, w: COLUMNS, x: 0, y },
    });
    y += 1;
    const isStats = row.panels.every(({ kind }) => kind === 'stat');
    const perLine = isStats ? row.panels.length : 3;
    const [w, h] = [Math.floor(COLUMNS / perLine), isStats ? STAT_HEIGHT : HEIGHT];
    for (const [index, panel] of row.panels.entries()) {
      const gridPos = { h, w, x: (index % perLine) * w, y: y + Math.floor(index / perLine) * h };
      panels.push(toPanel(panel, panels.length + 1, gridPos));
    }
    y += Math.ceil(row.panels.length / perLine) * h;
  }
  return `${JSON.stringify(toDocument(name, title, panels), null, 2)}\n`;
}

function toPanel(
  { title, about, unit, kind = 'timeseries', isStacked = false, queries }: Panel,
  id: number,
  gridPos: object,
) {
  const custom =
    kind === 'stat'
      ? {}
      : { fillOpacity: isStacked ? 30 : 10, stacking: { mode: isStacked ? 'normal' : 'none' }, showPoints: 'never' };
  return {
    id,
    type: kind,
    title,
    description: about,
    datasource: SOURCE,
    gridPos,
    fieldConfig: { defaults: { unit, custom, min: 0 }, overrides: [] },
    options:
      kind === 'stat'
        ? {
            reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
            colorMode: 'value',
            graphMode: 'area',
          }
        : { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCodePoint(65 + index),
      datasource: SOURCE,
      expr,
      legendFormat: legend,
    })),
  };
}

const toDocument = (name: string, title: string, panels: readonly object[]) => ({
  uid: `caribou-${name}`,
  title: `Caribou / ${title}`,
  description: 'Made by `npm run generate` of Caribou from tools/monitoring/dashboards.',
  tags: ['caribou'],
  timezone: 'browser',
  editable: true,
  schemaVersion: 39,
  version: 1,
  refresh: '30s',
  time: { from: 'now-3h', to: 'now' },
  links: [
    { type: 'dashboards', title: 'Caribou', tags: ['caribou'], asDropdown: true, includeVars: true, keepTime: true },
  ],
  templating: {
    list: [
      { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', current: {}, hide: 0 },
      {
        name: 'job',
        label: 'Job',
        type: 'query',
        datasource: SOURCE,
        definition: 'label_values(caribou_event_loop_lag_seconds, job)',
        query: { query: 'label_values(caribou_event_loop_lag_seconds, job)', refId: 'job' },
        refresh: 2,
        sort: 1,
        multi: true,
        includeAll: true,
        allValue: '.*',
        current: { text: ['All'], value: ['$__all'] },
      },
    ],
  },
  annotations: { list: [] },
  panels,
});
