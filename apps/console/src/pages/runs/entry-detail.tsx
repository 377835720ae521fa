import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import type { Traced } from '../../api/trace.js';
import { Button } from '../../components/button.js';
import { explain } from '../../text/explain.js';
import { formatBytes, formatCount, formatDuration, formatTime } from '../../text/format.js';
import { ChangedFiles } from './changed-files.js';
import { RequestView } from './request-view.js';
import styles from './runs.module.css';
import { StateView } from './state-view.js';
import type { TimelineRow } from './timeline-rows.js';

interface EntryDetailProps {
  readonly traced: Traced;
  readonly row: TimelineRow;
  /** All lines, by time. */
  readonly rows: readonly TimelineRow[];
}

/** All fields of an entry, and what belongs to it: the request of a model call, state and files of a commit, the trace of a task. */
export const EntryDetail = ({ traced, row, rows }: EntryDetailProps) => (
  <>
    <h2>{row.title}</h2>
    <p className={styles['quiet']}>
      {row.attempt === 0 ? explain.noAttempt : explain.attemptText(row.attempt)} · {explain.atOffset}{' '}
      {formatDuration(row.offsetMs)}
    </p>
    <dl className={styles['fields']}>
      {Object.entries(row.entry)
        .filter(([name]) => name !== 'type')
        .map(([name, value]: [string, unknown]) => (
          <div key={name}>
            <dt>{explain.fields[name] ?? name}</dt>
            <dd>{shown(name, value)}</dd>
          </div>
        ))}
    </dl>
    <Related traced={traced} row={row} rows={rows} />
  </>
);

/** A field as a person reads it. */
function shown(name: string, value: unknown): ReactNode {
  if (value === null) return '–';
  if (typeof value === 'boolean') return value ? explain.yes : explain.no;
  if (typeof value === 'number') {
    if (name.endsWith('_ms')) return formatDuration(value);
    return name === 'bytes' ? formatBytes(value) : formatCount(value);
  }
  if (typeof value === 'string') return <bdi>{name === 'at' ? formatTime(value) : value}</bdi>;
  return <pre className={styles['json']}>{JSON.stringify(value, null, 2)}</pre>;
}

function Related({ traced, row: { entry }, rows }: EntryDetailProps) {
  if (entry.type === 'model_call')
    return entry.call === null ? (
      <p className={styles['quiet']}>{explain.requestNotStored}</p>
    ) : (
      <Opened label={explain.showRequest}>
        <RequestView traced={traced} call={entry.call} />
      </Opened>
    );
  if (entry.type === 'task')
    return <Link to={`/runs/${traced.threadId}/${traced.runId}/tasks/${entry.task_id}`}>{explain.openTask}</Link>;
  if (entry.type !== 'commit' || traced.userId !== undefined || traced.taskId !== undefined) return null;
  const before = checkpointBefore(rows, entry.seq);
  return (
    <>
      <Opened label={explain.showState}>
        <StateView threadId={traced.threadId} checkpointId={entry.checkpoint_id} />
      </Opened>
      {before === undefined ? null : (
        <Opened label={explain.showFiles}>
          <ChangedFiles threadId={traced.threadId} from={before} to={entry.checkpoint_id} />
        </Opened>
      )}
    </>
  );
}

/** The checkpoint of the last commit before an entry; undefined for the first commit. */
function checkpointBefore(rows: readonly TimelineRow[], seq: number): string | undefined {
  const commits = rows.flatMap(({ entry }) => (entry.type === 'commit' && entry.seq < seq ? [entry] : []));
  return commits.sort((one, other) => one.seq - other.seq).at(-1)?.checkpoint_id;
}

/** Something that is read from the server once it is asked for. */
function Opened({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <div>
      <Button aria-expanded={isOpen} onClick={() => setOpen((before) => !before)}>
        {label}
      </Button>
      {isOpen ? <div className={styles['opened']}>{children}</div> : null}
    </div>
  );
}
