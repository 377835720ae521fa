import type { QueueKind, QueuesReply } from '@caribou/contracts';
import { lazy, Suspense, useEffect, useState } from 'react';
import { type Column, DataTable } from '../../../components/data-table.js';
import { Loading } from '../../../components/notice.js';
import { fleet as text } from '../../../text/fleet.js';
import { formatCount, formatTime } from '../../../text/format.js';
import { addSample, type QueueSample, seriesOf, tableSamples } from './queue-history.js';
import styles from './fleet.module.css';

const QueueChart = lazy(() => import('./queue-chart.js').then(({ QueueChart: component }) => ({ default: component })));

/** The lengths of all queues since the page was opened: a chart for each, and a table of the same. */
export function QueueCharts({ reply }: { readonly reply: QueuesReply }) {
  const [samples, setSamples] = useState<readonly QueueSample[]>([]);
  useEffect(() => setSamples((known) => addSample(known, reply)), [reply]);
  const kinds = reply.queues.map(({ kind }) => kind);
  return (
    <section className={styles['service']} aria-label={text.chartsTitle}>
      <h2>{text.chartsTitle}</h2>
      <p className={styles['quiet']}>{text.chartsAbout}</p>
      <div className={styles['charts']}>
        {kinds.map((kind) => (
          <ChartOf key={kind} kind={kind} samples={samples} />
        ))}
      </div>
      <details>
        <summary>{text.chartTable}</summary>
        <DataTable
          caption={text.chartsTitle}
          columns={columnsOf(kinds)}
          rows={tableSamples(samples)}
          keyOf={({ atMs }) => String(atMs)}
          empty={text.threadsEmpty}
        />
      </details>
    </section>
  );
}

function ChartOf({ kind, samples }: { readonly kind: QueueKind; readonly samples: readonly QueueSample[] }) {
  const [times, lengths] = seriesOf(samples, kind);
  const known = lengths.filter((length) => length !== null);
  const label = text.chartLabel(text.kinds[kind], formatCount(known.at(-1) ?? 0), formatCount(Math.max(0, ...known)));
  return (
    <div className={styles['chart']}>
      <h3 className={styles['quiet']}>{text.kinds[kind]}</h3>
      <Suspense fallback={<Loading />}>
        <QueueChart label={label} times={times} lengths={lengths} />
      </Suspense>
    </div>
  );
}

const columnsOf = (kinds: readonly QueueKind[]): readonly Column<QueueSample>[] => [
  { head: text.time, cell: ({ atMs }) => formatTime(atMs) },
  ...kinds.map((kind) => ({
    head: text.kinds[kind],
    isNumber: true,
    cell: ({ lengths }: QueueSample) => {
      const length = lengths[kind];
      return length === undefined ? text.notKnown : formatCount(length);
    },
  })),
];
