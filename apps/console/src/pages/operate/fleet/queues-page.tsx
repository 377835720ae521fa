import type { QueueInfo, QueuesReply, WaitingThreadInfo } from '@caribou/contracts';
import { type Column, DataTable } from '../../../components/data-table.js';
import { Failure, Loading } from '../../../components/notice.js';
import { Page } from '../../../components/page.js';
import { fleet as text } from '../../../text/fleet.js';
import { formatCount, formatDuration, formatTime } from '../../../text/format.js';
import { useQueues } from './api.js';
import { QueueCharts } from './queue-charts.js';
import styles from './fleet.module.css';

/** What waits in the queues of all users. */
export function Component() {
  const queues = useQueues();
  return (
    <Page title={text.queuesTitle} about={text.queuesAbout}>
      {queues.isError ? <Failure error={queues.error} onRetry={() => void queues.refetch()} /> : null}
      {queues.isPending ? <Loading /> : null}
      {queues.data === undefined ? null : <Queues reply={queues.data} />}
    </Page>
  );
}

const Queues = ({ reply }: { readonly reply: QueuesReply }) => (
  <div className={styles['services']}>
    <section className={styles['service']} aria-label={text.queuesTable}>
      <p className={styles['quiet']}>{text.updated(formatTime(reply.at))}</p>
      <DataTable
        caption={text.queuesTable}
        columns={QUEUE_COLUMNS}
        rows={reply.queues}
        keyOf={({ kind }) => kind}
        empty={text.threadsEmpty}
      />
      <p>{text.runningText(formatCount(reply.running.runs), formatCount(reply.running.tasks))}</p>
      <p className={styles['quiet']}>{limitsOf(reply)}</p>
    </section>
    <QueueCharts reply={reply} />
    <Users queues={reply.queues} />
    <section className={styles['service']} aria-label={text.threadsTitle}>
      <h2>{text.threadsTitle}</h2>
      <DataTable
        caption={text.threadsTitle}
        columns={THREAD_COLUMNS}
        rows={reply.longest_waiting}
        keyOf={({ kind, user_id, thread_id }) => `${kind} ${user_id} ${thread_id}`}
        empty={text.threadsEmpty}
      />
    </section>
  </div>
);

const limitsOf = ({ limits }: QueuesReply): string =>
  text.limitsText(
    limits.running_per_user === null ? text.noLimit : formatCount(limits.running_per_user),
    formatCount(limits.tasks),
    formatCount(limits.tasks_per_user),
  );

const QUEUE_COLUMNS: readonly Column<QueueInfo>[] = [
  { head: text.queue, cell: ({ kind }) => text.kinds[kind] },
  { head: text.length, cell: ({ length }) => formatCount(length), isNumber: true },
  {
    head: text.oldestWait,
    cell: ({ length, oldest_wait_ms }) => (length === 0 ? text.notKnown : formatDuration(oldest_wait_ms)),
    isNumber: true,
  },
];

const THREAD_COLUMNS: readonly Column<WaitingThreadInfo>[] = [
  { head: text.kind, cell: ({ kind }) => text.kinds[kind] },
  { head: text.user, cell: ({ user_id }) => <span className={styles['id']}>{user_id}</span> },
  { head: text.thread, cell: ({ thread_id }) => <span className={styles['id']}>{thread_id}</span> },
  { head: text.since, cell: ({ since }) => formatTime(since) },
  { head: text.waits, cell: ({ wait_ms }) => formatDuration(wait_ms), isNumber: true },
];

interface UserRow {
  readonly kind: QueueInfo['kind'];
  readonly userId: string;
  readonly waiting: number;
}

const USER_COLUMNS: readonly Column<UserRow>[] = [
  { head: text.queue, cell: ({ kind }) => text.kinds[kind] },
  { head: text.user, cell: ({ userId }) => <span className={styles['id']}>{userId}</span> },
  { head: text.length, cell: ({ waiting }) => formatCount(waiting), isNumber: true },
];

function Users({ queues }: { readonly queues: readonly QueueInfo[] }) {
  const rows = queues.flatMap(({ kind, users }) =>
    users.map(({ user_id, waiting }) => ({ kind, userId: user_id, waiting })),
  );
  return (
    <section className={styles['service']} aria-label={text.usersTitle}>
      <h2>{text.usersTitle}</h2>
      {queues.every(({ is_counted_whole }) => is_counted_whole) ? null : (
        <p className={styles['quiet']}>{text.usersPart}</p>
      )}
      <DataTable
        caption={text.usersTitle}
        columns={USER_COLUMNS}
        rows={rows}
        keyOf={({ kind, userId }) => `${kind} ${userId}`}
        empty={text.usersEmpty}
      />
    </section>
  );
}
