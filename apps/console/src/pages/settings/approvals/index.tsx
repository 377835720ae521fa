import type { approvalRoutes } from '@caribou/contracts';
import { useInfiniteQuery } from '@tanstack/react-query';
import { endpoint } from '../../../api/endpoint.js';
import { Badge } from '../../../components/badge.js';
import { Button } from '../../../components/button.js';
import { DataTable } from '../../../components/data-table.js';
import { Page } from '../../../components/page.js';
import { formatTime } from '../../../text/format.js';
import { settings } from '../../../text/settings.js';
import { approvalTexts as texts } from '../../../text/settings-account.js';
import { Loaded } from '../parts/loaded.js';
import styles from '../parts/parts.module.css';
import { ThreadLink } from '../parts/thread-link.js';
import { summaryOf } from './waiting.js';

const listApprovals = endpoint<typeof approvalRoutes.list>('GET', '/approvals');
type Waiting = Awaited<ReturnType<typeof listApprovals>>['approvals'][number];

/** An inbox of what waits for the person; it is decided in the conversation, where its context is. */
export function ApprovalsPage() {
  const waiting = useInfiniteQuery({
    queryKey: ['approvals'],
    queryFn: ({ pageParam, signal }) =>
      listApprovals({ query: pageParam === null ? {} : { cursor: pageParam }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_cursor }) => next_cursor,
    refetchInterval: 15_000,
    maxPages: 20,
  });
  return (
    <Page title={texts.title} about={texts.about}>
      <Loaded query={waiting}>
        {({ pages }) => <WaitingTable rows={pages.flatMap(({ approvals }) => approvals)} />}
      </Loaded>
      {waiting.hasNextPage ? (
        <Button disabled={waiting.isFetchingNextPage} onClick={() => void waiting.fetchNextPage()}>
          {settings.more}
        </Button>
      ) : null}
    </Page>
  );
}

const WaitingTable = ({ rows }: { readonly rows: readonly Waiting[] }) => (
  <DataTable
    caption={texts.list}
    empty={texts.empty}
    rows={rows}
    keyOf={({ thread_id, interrupt_id }) => `${thread_id} ${interrupt_id}`}
    columns={[
      {
        head: texts.kind,
        cell: ({ kind, may_decide }) => (
          <>
            <Badge tone={kind === 'approval' ? 'warn' : 'accent'}>{texts.kinds[kind]}</Badge>
            {may_decide ? null : <p className={styles['hint']}>{texts.mayNot}</p>}
          </>
        ),
      },
      { head: texts.what, cell: ({ value }) => <span className={styles['wrap']}>{summaryOf(value)}</span> },
      { head: texts.conversation, cell: ({ thread_id }) => <ThreadLink threadId={thread_id} label={texts.open} /> },
      { head: texts.owner, cell: ({ user_id }) => user_id },
      { head: texts.since, cell: ({ created_at }) => formatTime(created_at) },
      {
        head: texts.until,
        cell: ({ expires_at }) => (expires_at === null ? texts.forEver : formatTime(expires_at)),
      },
    ]}
  />
);
