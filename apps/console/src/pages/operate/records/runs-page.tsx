import type { AdminRunReply } from '@caribou/contracts';
import { cancelAnyRun, listAllRuns } from '../../../api/records.js';
import { Badge } from '../../../components/badge.js';
import { Button } from '../../../components/button.js';
import type { Column } from '../../../components/data-table.js';
import { Page } from '../../../components/page.js';
import { formatTime } from '../../../text/format.js';
import { work } from '../../../text/records/work.js';
import { Filters, useFilter, userField } from './filters.js';
import { Id, RunLink } from './ids.js';
import { PagedTable } from './paged-table.js';
import { type Question, useQuestion } from './use-question.js';
import { usePages } from './use-pages.js';

const STATUSES = [
  ['', work.all],
  ['pending', work.pending],
  ['running', work.running],
] as const;

const fields = [userField, { name: 'status', label: work.status, options: STATUSES }];

const isStatus = (text: string | undefined): text is AdminRunReply['status'] =>
  text === 'pending' || text === 'running';

/** Runs of all users that wait or are under way. */
export function Component() {
  const { user, status } = useFilter();
  const { ask, dialog } = useQuestion();
  const pages = usePages(['runs', user, status], (cursor, signal) =>
    listAllRuns({ query: { user, status: isStatus(status) ? status : undefined, cursor, limit: 100 }, signal }),
  );
  return (
    <Page title={work.runs} about={work.runsAbout}>
      <Filters fields={fields} />
      <PagedTable
        caption={work.runs}
        columns={columns(ask)}
        rows={pages.replies.flatMap(({ runs }) => runs)}
        keyOf={({ user_id: owner, run_id: id }) => `${owner} ${id}`}
        empty={work.noRuns}
        pages={pages}
      />
      {dialog}
    </Page>
  );
}

const columns = (ask: (question: Question) => void): readonly Column<AdminRunReply>[] => [
  { head: work.user, cell: (run) => <Id>{run.user_id}</Id> },
  {
    head: work.run,
    cell: (run) => <RunLink userId={run.user_id} threadId={run.thread_id} runId={run.run_id} />,
  },
  { head: work.status, cell: statusBadge },
  { head: work.admitted, cell: (run) => formatTime(run.created_at) },
  { head: work.started, cell: (run) => (run.started_at === null ? '' : formatTime(run.started_at)) },
  { head: work.attempt, cell: (run) => run.attempt, isNumber: true },
  { head: work.process, cell: (run) => <Id>{run.owner ?? work.noProcess}</Id> },
  {
    head: work.actions,
    cell: (run) => (
      <Button look="danger" disabled={run.is_cancelled} onClick={() => ask(stopOf(run))}>
        {work.stop}
      </Button>
    ),
  },
];

function statusBadge({ status, is_cancelled: isCancelled }: AdminRunReply) {
  if (isCancelled) return <Badge tone="warn">{work.stopping}</Badge>;
  return status === 'running' ? <Badge tone="good">{work.running}</Badge> : <Badge>{work.pending}</Badge>;
}

const stopOf = ({ user_id, thread_id, run_id }: AdminRunReply): Question => ({
  title: work.stopTitle,
  about: work.stopAbout(user_id),
  action: work.stop,
  onConfirm: () => cancelAnyRun({ body: { user_id, thread_id, run_id } }),
});
