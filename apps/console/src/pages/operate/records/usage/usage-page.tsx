import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useCallback, useMemo } from 'react';
import { getUsage } from '../../../../api/records.js';
import { Button } from '../../../../components/button.js';
import { type Column, DataTable } from '../../../../components/data-table.js';
import { Failure, Loading, Notice } from '../../../../components/notice.js';
import { Page } from '../../../../components/page.js';
import { formatCount, formatMoney } from '../../../../text/format.js';
import { facts } from '../../../../text/records/facts.js';
import { Budgets } from './budgets.js';
import { download } from '../download.js';
import { type FilterField, Filters, useFilter, userField } from '../filters.js';
import { Id } from '../ids.js';
import styles from '../records.module.css';
import { usageCsv } from './usage-csv.js';
import {
  daysBetween,
  type UsageBy,
  usageChart,
  type UsageMetric,
  type UsageTotal,
  usageTotals,
} from './usage-series.js';

const Chart = lazy(() => import('./usage-chart.js').then(({ UsageChart }) => ({ default: UsageChart })));

const BYS = ['user', 'key', 'agent', 'model'] as const;
const METRICS = ['cost', 'tokens', 'calls'] as const;
const DAYS = ['7', '30', '90'] as const;
const DAY_MS = 86_400_000;
const texts = { noKey: facts.noKey, others: facts.others };

const fields: readonly FilterField[] = [
  { name: 'by', label: facts.groupBy, options: BYS.map((by) => [by, facts.groups[by]]) },
  { name: 'metric', label: facts.metric, options: METRICS.map((metric) => [metric, facts.metrics[metric]]) },
  { name: 'days', label: facts.days, options: DAYS.map((days) => [days, days]) },
  { ...userField, hint: facts.allUsers },
];

const oneOf = <Option extends string>(options: readonly [Option, ...Option[]], text: string | undefined): Option =>
  options.find((option) => option === text) ?? options[0];

/** Usage of models by all users. */
export function Component() {
  const filter = useFilter();
  const { user } = filter;
  const [by, metric] = [oneOf(BYS, filter['by']), oneOf(METRICS, filter['metric'])];
  const days = Number(oneOf(DAYS, filter['days']));
  const usage = useQuery({
    queryKey: ['records', 'usage', by, days, user],
    queryFn: ({ signal }) =>
      getUsage({ query: { user: user ?? '*', group: `day,${by}`, from: firstDay(days) }, signal }),
    placeholderData: keepPreviousData,
  });
  return (
    <Page title={facts.usage} about={facts.usageAbout}>
      <Filters fields={fields} />
      {usage.isPending ? <Loading /> : null}
      {usage.isError ? <Failure error={usage.error} onRetry={() => void usage.refetch()} /> : null}
      {usage.data === undefined ? null : <Shown reply={usage.data} by={by} metric={metric} />}
      <Budgets />
    </Page>
  );
}

const firstDay = (days: number): string => new Date(Date.now() - (days - 1) * DAY_MS).toISOString().slice(0, 10);

interface ShownProps {
  readonly reply: Awaited<ReturnType<typeof getUsage>>;
  readonly by: UsageBy;
  readonly metric: UsageMetric;
}

function Shown({ reply, by, metric }: ShownProps) {
  const { from, to, series, currency } = reply;
  const chart = useMemo(
    () => usageChart(series, { days: daysBetween(from, to), by, metric, texts }),
    [series, from, to, by, metric],
  );
  const format = useCallback(
    (value: number) => (metric === 'cost' ? formatMoney(value, currency) : formatCount(value)),
    [metric, currency],
  );
  const totals = usageTotals(series, { by, metric, texts });
  const save = (): void => download(new Blob([usageCsv(series)], { type: 'text/csv' }), `usage-${from}-${to}.csv`);
  return (
    <>
      {currency === null ? <Notice>{facts.noPrices}</Notice> : null}
      {series.length === 0 ? null : (
        <>
          <p className={styles['quiet']}>{facts.chartOf(facts.metrics[metric], facts.groups[by])}</p>
          <Suspense fallback={<Loading />}>
            <Chart data={chart} format={format} />
          </Suspense>
        </>
      )}
      <div className={styles['actions']}>
        <Button onClick={save} disabled={series.length === 0}>
          {facts.csv}
        </Button>
      </div>
      <DataTable
        caption={facts.usage}
        columns={columns(facts.groups[by], currency)}
        rows={totals.length === 0 ? [] : [...totals, { name: facts.total, ...reply.totals }]}
        keyOf={({ name }) => name}
        empty={facts.noUsage}
      />
    </>
  );
}

const columns = (group: string, currency: string | null): readonly Column<UsageTotal>[] => [
  { head: group, cell: ({ name }) => <Id>{name}</Id> },
  { head: facts.calls, cell: ({ calls }) => formatCount(calls), isNumber: true },
  { head: facts.inputTokens, cell: (row) => formatCount(row.input_tokens), isNumber: true },
  { head: facts.cachedTokens, cell: (row) => formatCount(row.cached_input_tokens), isNumber: true },
  { head: facts.outputTokens, cell: (row) => formatCount(row.output_tokens), isNumber: true },
  { head: facts.reasoningTokens, cell: (row) => formatCount(row.reasoning_tokens), isNumber: true },
  { head: facts.cost, cell: ({ cost }) => formatMoney(cost, currency), isNumber: true },
];
