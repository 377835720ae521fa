import type { AdminWebhookEventReply } from '@caribou/contracts';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from 'react-router';
import { listAllWebhookEvents, retryAnyWebhookEvent } from '../../../api/records.js';
import { Button } from '../../../components/button.js';
import type { Column } from '../../../components/data-table.js';
import { Failure, Notice } from '../../../components/notice.js';
import { Page } from '../../../components/page.js';
import { formatTime } from '../../../text/format.js';
import { work } from '../../../text/records/work.js';
import { Filters, useFilter, userField } from './filters.js';
import { Id, RunLink, Text } from './ids.js';
import { PagedTable } from './paged-table.js';
import { usePages } from './use-pages.js';

const fields = [userField];

/** Events of webhooks of all users that wait for their delivery. */
export function Component() {
  const { user } = useFilter();
  const queries = useQueryClient();
  const retry = useMutation({
    mutationFn: ({ user_id, event_id }: AdminWebhookEventReply) =>
      retryAnyWebhookEvent({ params: { user_id, event_id } }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['records'] }),
  });
  const pages = usePages(['webhooks', user], (cursor, signal) =>
    listAllWebhookEvents({ query: { user, cursor, limit: 100 }, signal }),
  );
  return (
    <Page
      title={work.webhooks}
      about={work.webhooksAbout}
      actions={<Link to="/operate/dead-letters?kind=webhook">{work.givenUp}</Link>}
    >
      <Filters fields={fields} />
      {retry.isSuccess ? <Notice>{work.retried}</Notice> : null}
      {retry.isError ? <Failure error={retry.error} /> : null}
      <PagedTable
        caption={work.webhooks}
        columns={columns(retry.mutate)}
        rows={pages.replies.flatMap(({ events }) => events)}
        keyOf={({ user_id: owner, event_id: id }) => `${owner} ${id}`}
        empty={work.noEvents}
        pages={pages}
      />
    </Page>
  );
}

const columns = (onRetry: (event: AdminWebhookEventReply) => void): readonly Column<AdminWebhookEventReply>[] => [
  { head: work.user, cell: (event) => <Id>{event.user_id}</Id> },
  {
    head: work.run,
    cell: (event) => <RunLink userId={event.user_id} threadId={event.thread_id} runId={event.event_id} />,
  },
  { head: work.receiver, cell: ({ host }) => <Id>{host}</Id> },
  { head: work.ended, cell: ({ ended_at: at, status }) => `${formatTime(at)} (${status})` },
  { head: work.attempts, cell: ({ attempts }) => attempts, isNumber: true },
  { head: work.lastError, cell: ({ error }) => <Text>{error ?? ''}</Text> },
  { head: work.next, cell: ({ next_attempt_at: at }) => formatTime(at) },
  { head: work.actions, cell: (event) => <Button onClick={() => onRetry(event)}>{work.retryNow}</Button> },
];
