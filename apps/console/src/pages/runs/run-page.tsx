import { useCallback, useMemo } from 'react';
import { Link, useSearchParams } from 'react-router';
import { type LoadedTrace, type Traced } from '../../api/trace.js';
import { Failure, Loading, Notice } from '../../components/notice.js';
import { Page } from '../../components/page.js';
import { explain } from '../../text/explain.js';
import { formatTime } from '../../text/format.js';
import { CopyLink } from './copy-link.js';
import { EntryDetail } from './entry-detail.js';
import styles from './runs.module.css';
import { SummaryList } from './summary-list.js';
import { Timeline } from './timeline.js';
import { timelineRows } from './timeline-rows.js';
import { isUnderWay, useTrace } from './use-trace.js';

/** A run or task, step by step. The chosen entry is part of the address. */
export function RunPage({ traced }: { readonly traced: Traced }) {
  const trace = useTrace(traced);
  const { threadId, runId, taskId } = traced;
  const search = useSearchParams()[0].toString();
  const back =
    taskId === undefined ? `/threads/${threadId}` : `/runs/${threadId}/${runId}${search === '' ? '' : `?${search}`}`;
  return (
    <Page
      title={taskId === undefined ? explain.title : explain.taskTitle}
      about={explain.about}
      actions={
        <>
          <CopyLink />
          <Link to={back}>{taskId === undefined ? explain.backToConversation : explain.backToRun}</Link>
        </>
      }
    >
      {trace.isPending ? <Loading /> : null}
      {trace.error === null ? null : <Failure error={trace.error} onRetry={() => void trace.refetch()} />}
      {trace.data === undefined ? null : <TraceView traced={traced} trace={trace.data} />}
    </Page>
  );
}

function TraceView({ traced, trace }: { readonly traced: Traced; readonly trace: LoadedTrace }) {
  const { entries, retainedUntil, isCut } = trace;
  const rows = useMemo(() => timelineRows(entries), [entries]);
  const [search, setSearch] = useSearchParams();
  const chosen = Number(search.get('entry') ?? '0');
  const choose = useCallback(
    (seq: number) =>
      setSearch(
        (before) => {
          before.set('entry', String(seq));
          return before;
        },
        { replace: true },
      ),
    [setSearch],
  );
  const selected = rows.find(({ entry }) => entry.seq === chosen);
  return (
    <>
      <SummaryList trace={trace} />
      {entries.length === 0 ? <Notice>{explain.noEntries}</Notice> : null}
      {isCut ? <Notice tone="warn">{explain.isCut(entries.length)}</Notice> : null}
      <p className={styles['quiet']} role="status">
        {isUnderWay(trace)
          ? explain.isLive
          : retainedUntil === null
            ? ''
            : explain.retainedUntil(formatTime(retainedUntil))}
      </p>
      {entries.length === 0 ? null : (
        <div className={styles['columns']}>
          <Timeline rows={rows} chosen={chosen} onChoose={choose} />
          <section className={styles['detail']} aria-label={explain.details}>
            {selected === undefined ? (
              <p className={styles['quiet']}>{explain.chooseEntry}</p>
            ) : (
              <EntryDetail key={chosen} traced={traced} row={selected} rows={rows} />
            )}
          </section>
        </div>
      )}
    </>
  );
}
