import type { usageRoutes } from '@caribou/contracts';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { endpoint } from '../../../api/endpoint.js';
import { type Column, DataTable } from '../../../components/data-table.js';
import { Page } from '../../../components/page.js';
import { formatCount, formatMoney } from '../../../text/format.js';
import { usageTexts as texts } from '../../../text/settings-account.js';
import { Field } from '../parts/field.js';
import { Loaded } from '../parts/loaded.js';
import { Section } from '../parts/section.js';
import { daysOf, monthsUntil } from './month.js';

const getUsage = endpoint<typeof usageRoutes.get>('GET', '/usage');
type Usage = Awaited<ReturnType<typeof getUsage>>;
type Entry = Usage['series'][number];
type Group = 'model' | 'agent' | 'day';

const MONTHS = 12;

const useUsage = (month: string, group: Group) =>
  useQuery({
    queryKey: ['usage', month, group],
    queryFn: ({ signal }) => getUsage({ query: { ...daysOf(month, Date.now()), group }, signal }),
  });

/** What the runs of the person have used in a month. */
export function UsagePage() {
  const [months] = useState(() => monthsUntil(Date.now(), MONTHS));
  const [month, setMonth] = useState(months[0] ?? '');
  return (
    <Page title={texts.title} about={texts.about}>
      <Field label={texts.month}>
        <select value={month} onChange={({ currentTarget }) => setMonth(currentTarget.value)}>
          {months.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </Field>
      <UsageTable title={texts.byModel} month={month} group="model" isWithTotal />
      <UsageTable title={texts.byAgent} month={month} group="agent" />
      <UsageTable title={texts.byDay} month={month} group="day" />
    </Page>
  );
}

interface UsageTableProps {
  readonly title: string;
  readonly month: string;
  readonly group: Group;
  readonly isWithTotal?: boolean;
}

function UsageTable({ title, month, group, isWithTotal = false }: UsageTableProps) {
  return (
    <Section title={title}>
      <Loaded query={useUsage(month, group)}>
        {({ series, totals, currency }) => (
          <DataTable
            caption={title}
            empty={texts.empty}
            rows={isWithTotal && series.length > 0 ? [...series, { ...totals, [group]: texts.total }] : series}
            keyOf={(entry) => entry[group] ?? ''}
            columns={columnsOf(group, currency)}
          />
        )}
      </Loaded>
    </Section>
  );
}

const columnsOf = (group: Group, currency: string | null): readonly Column<Entry>[] => [
  { head: texts[group], cell: (entry) => entry[group] ?? '' },
  { head: texts.calls, isNumber: true, cell: ({ calls }) => formatCount(calls) },
  { head: texts.input, isNumber: true, cell: ({ input_tokens }) => formatCount(input_tokens) },
  { head: texts.cached, isNumber: true, cell: ({ cached_input_tokens }) => formatCount(cached_input_tokens) },
  { head: texts.output, isNumber: true, cell: ({ output_tokens }) => formatCount(output_tokens) },
  {
    head: texts.cost,
    isNumber: true,
    cell: ({ cost }) => (currency === null ? texts.noPrices : formatMoney(cost, currency)),
  },
];
