import type { AdminCronReply } from '@caribou/contracts';
import { deleteAnyCron, listAllCrons, pauseAnyCron } from '../../../api/records.js';
import { Badge } from '../../../components/badge.js';
import { Button } from '../../../components/button.js';
import type { Column } from '../../../components/data-table.js';
import { Notice } from '../../../components/notice.js';
import { Page } from '../../../components/page.js';
import { formatCount, formatTime } from '../../../text/format.js';
import { work } from '../../../text/records/work.js';
import { Filters, useFilter, userField } from './filters.js';
import { Id, RunLink, Text } from './ids.js';
import { PagedTable } from './paged-table.js';
import styles from './records.module.css';
import { type Question, useQuestion } from './use-question.js';
import { usePages } from './use-pages.js';

const fields = [userField];

/** Schedules of all users. */
export function Component() {
  const { user } = useFilter();
  const { ask, dialog } = useQuestion();
  const pages = usePages(['crons', user], (cursor, signal) =>
    listAllCrons({ query: { user, cursor, limit: 100 }, signal }),
  );
  const unreadable = pages.replies.reduce((sum, reply) => sum + reply.unreadable, 0);
  return (
    <Page title={work.schedules} about={work.schedulesAbout}>
      <Filters fields={fields} />
      {unreadable === 0 ? null : <Notice tone="warn">{work.unreadable(formatCount(unreadable))}</Notice>}
      <PagedTable
        caption={work.schedules}
        columns={columns(ask)}
        rows={pages.replies.flatMap(({ crons }) => crons)}
        keyOf={({ user_id: owner, cron_id: id }) => `${owner} ${id}`}
        empty={work.noSchedules}
        pages={pages}
      />
      {dialog}
    </Page>
  );
}

const columns = (ask: (question: Question) => void): readonly Column<AdminCronReply>[] => [
  { head: work.user, cell: (cron) => <Id>{cron.user_id}</Id> },
  {
    head: work.schedule,
    cell: ({ title, schedule, timezone, cron_id: id }) => (
      <>
        <Text>{title ?? id}</Text>
        <span className={styles['quiet']}>{timezone === null ? schedule : `${schedule} (${timezone})`}</span>
      </>
    ),
  },
  { head: work.due, cell: dueOf },
  { head: work.last, cell: lastOf },
  {
    head: work.actions,
    cell: (cron) => (
      <div className={styles['actions']}>
        <Button disabled={!cron.enabled} onClick={() => ask(pauseOf(cron))}>
          {work.pause}
        </Button>
        <Button look="danger" onClick={() => ask(removeOf(cron))}>
          {work.remove}
        </Button>
      </div>
    ),
  },
];

function dueOf({ enabled, due_at: dueAt, retries }: AdminCronReply) {
  if (!enabled) return <Badge>{work.paused}</Badge>;
  if (dueAt === null) return <Badge>{work.over}</Badge>;
  return (
    <>
      {formatTime(dueAt)} {retries === 0 ? null : <Badge tone="warn">{work.putOff(formatCount(retries))}</Badge>}
    </>
  );
}

function lastOf({ user_id: userId, ...cron }: AdminCronReply) {
  const { last_at: at, last_run_id: runId, last_thread_id: threadId, last_error: error } = cron;
  return (
    <>
      {at === null ? work.never : formatTime(at)}
      <span className={styles['quiet']}>, {work.counts(formatCount(cron.started), formatCount(cron.missed))}</span>
      {runId === null || threadId === null ? null : (
        <div>
          <RunLink userId={userId} threadId={threadId} runId={runId} />
        </div>
      )}
      {error === null ? null : <Text>{error}</Text>}
    </>
  );
}

const pauseOf = ({ user_id, cron_id }: AdminCronReply): Question => ({
  title: work.pauseTitle,
  about: work.pauseAbout(user_id),
  action: work.pause,
  onConfirm: () => pauseAnyCron({ params: { user_id, cron_id } }),
});

const removeOf = ({ user_id, cron_id }: AdminCronReply): Question => ({
  title: work.removeTitle,
  about: work.removeAbout(user_id),
  action: work.remove,
  onConfirm: () => deleteAnyCron({ params: { user_id, cron_id } }),
});
