import type { ProcessInfo } from '@caribou/contracts';
import { Badge, type Tone } from '../../../components/badge.js';
import { type Column, DataTable } from '../../../components/data-table.js';
import { Failure, Loading, Notice } from '../../../components/notice.js';
import { Page } from '../../../components/page.js';
import { fleet as text } from '../../../text/fleet.js';
import { formatBytes, formatCount, formatDuration, formatTime } from '../../../text/format.js';
import { useFleet } from './api.js';
import { type FleetRow, fleetRows, lacksProcesses, type ServiceRows } from './fleet-rows.js';
import styles from './fleet.module.css';

/** Every process of the system, refreshed while the page is visible. */
export function Component() {
  const fleet = useFleet();
  return (
    <Page title={text.fleetTitle} about={text.fleetAbout}>
      {fleet.isError ? <Failure error={fleet.error} onRetry={() => void fleet.refetch()} /> : null}
      {fleet.isPending ? <Loading /> : null}
      {fleet.data === undefined ? null : (
        <>
          {fleet.data.nats.reachable ? null : <Notice tone="bad">{text.natsAway(fleet.data.nats.reason ?? '')}</Notice>}
          {fleet.data.redis.reachable ? null : (
            <Notice tone="warn">{text.redisAway(fleet.data.redis.reason ?? '')}</Notice>
          )}
          {fleet.data.is_cut ? <Notice tone="warn">{text.listCut}</Notice> : null}
          <p className={styles['quiet']}>{text.updated(formatTime(fleet.data.at))}</p>
          <div className={styles['services']}>
            {fleetRows(fleet.data).map((service) => (
              <Service
                key={service.service}
                {...service}
                isAsked={fleet.data.nats.reachable}
                nowMs={Date.parse(fleet.data.at)}
              />
            ))}
          </div>
        </>
      )}
    </Page>
  );
}

function Service({ isAsked, nowMs, ...service }: ServiceRows & { readonly isAsked: boolean; readonly nowMs: number }) {
  const name = text.serviceNames[service.service];
  return (
    <section className={styles['service']} aria-label={name}>
      <div className={styles['heading']}>
        <h2>{name}</h2>
        <span className={styles['quiet']}>{text.processes(service.rows.length)}</span>
        {isAsked && lacksProcesses(service) ? <Badge tone="bad">{text.noneAnswers(name)}</Badge> : null}
      </div>
      {service.rows.length === 0 ? null : (
        <DataTable
          caption={name}
          columns={columnsFor(nowMs, service.service === 'gateway')}
          rows={service.rows}
          keyOf={({ id }) => id}
          empty={text.noneAnswers(name)}
        />
      )}
    </section>
  );
}

const TONES: Readonly<Record<FleetRow['kind'], Tone>> = {
  ready: 'good',
  degraded: 'warn',
  draining: 'accent',
  silent: 'bad',
  lapsed: 'bad',
  unknown: 'neutral',
};

/** A column with a figure of a process, which those that did not answer have not. */
const figure = (head: string, of: (process: ProcessInfo) => React.ReactNode, isNumber = false): Column<FleetRow> => ({
  head,
  isNumber,
  cell: (row) => ('process' in row ? of(row.process) : text.notKnown),
});

const columnsFor = (nowMs: number, hasStreams: boolean): readonly Column<FleetRow>[] => [
  { head: text.process, cell: (row) => <ProcessName row={row} /> },
  { head: text.state, cell: (row) => <State row={row} /> },
  figure(text.slots, ({ slots }) => (
    <Lines lines={slots.map(({ kind, used, limit }) => text.slot(kind, formatCount(used), formatCount(limit)))} />
  )),
  figure(text.lag, ({ loop_lag_ms: lag }) =>
    lag === null ? text.measuring : text.pair(formatDuration(lag.p50), formatDuration(lag.p99)),
  ),
  figure(text.memory, ({ resident_bytes }) => formatBytes(resident_bytes), true),
  figure(text.caches, ({ caches }) => (
    <Lines
      lines={caches.map(({ name, bytes, limit_bytes }) =>
        text.cache(name, formatBytes(bytes), formatBytes(limit_bytes)),
      )}
    />
  )),
  ...(hasStreams ? [figure(text.streams, ({ open_streams }) => formatCount(open_streams ?? 0), true)] : []),
  figure(text.version, ({ version }) => version),
  figure(text.uptime, ({ started_at }) => formatDuration(Math.max(0, nowMs - Date.parse(started_at)))),
];

const ProcessName = ({ row }: { readonly row: FleetRow }) => (
  <span className={`${styles['stack']} ${styles['process']}`}>
    <span className={styles['id']}>{row.id}</span>
    {'process' in row ? (
      <span className={styles['quiet']}>{text.hostAndPid(row.process.host, row.process.pid)}</span>
    ) : null}
  </span>
);

const State = ({ row }: { readonly row: FleetRow }) => (
  <span className={styles['stack']}>
    <span>
      <Badge tone={TONES[row.kind]}>{text.states[row.kind]}</Badge>
    </span>
    {'process' in row ? (
      row.process.problems.map(({ name, reason }) => (
        <span key={name} className={styles['problem']}>
          <strong>{name}</strong> {reason}
        </span>
      ))
    ) : (
      <span className={styles['problem']}>
        {(row.kind === 'lapsed' ? text.lapsedFor : text.silentFor)(formatDuration(row.silent.renewed_ms_ago))}
      </span>
    )}
  </span>
);

const Lines = ({ lines }: { readonly lines: readonly string[] }) =>
  lines.length === 0 ? (
    text.notKnown
  ) : (
    <span className={styles['stack']}>
      {lines.map((line) => (
        <span key={line} className={styles['line']}>
          {line}
        </span>
      ))}
    </span>
  );
