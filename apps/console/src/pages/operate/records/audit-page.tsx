import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { listAudit } from '../../../api/records.js';
import { request } from '../../../api/request.js';
import { Badge } from '../../../components/badge.js';
import { Button } from '../../../components/button.js';
import type { Column } from '../../../components/data-table.js';
import { Dialog } from '../../../components/dialog.js';
import { Failure } from '../../../components/notice.js';
import { Page } from '../../../components/page.js';
import { formatCount, formatTime } from '../../../text/format.js';
import { facts } from '../../../text/records/facts.js';
import { type AuditRow, auditQuery, auditRow } from './audit-filter.js';
import { download } from './download.js';
import { type FilterField, Filters, ID_PATTERN, useFilter, userField } from './filters.js';
import { Id, Text } from './ids.js';
import { PagedTable } from './paged-table.js';
import styles from './records.module.css';
import { showDirections } from './show-directions.js';
import { usePages } from './use-pages.js';

/** Lines of one download: the browser holds them until they are stored. */
const MAX_LINES = 50_000;

const fields: readonly FilterField[] = [
  userField,
  { name: 'thread', label: facts.thread, pattern: ID_PATTERN },
  { name: 'action', label: facts.action },
  { name: 'outcome', label: facts.outcome },
  { name: 'from', label: facts.from, type: 'datetime-local' },
  { name: 'to', label: facts.to, type: 'datetime-local' },
];

/** The audit of the installation. */
export function Component() {
  const query = auditQuery(useFilter());
  const [shown, setShown] = useState<AuditRow>();
  const pages = usePages(['audit', query], (cursor, signal) =>
    listAudit({ query: { ...query, cursor, limit: 100 }, signal }),
  );
  return (
    <Page title={facts.audit} about={facts.auditAbout}>
      <Filters fields={fields} />
      <Export query={query} />
      <PagedTable
        caption={facts.audit}
        columns={columns(setShown)}
        rows={pages.replies.flatMap(({ entries }) => entries.map(auditRow))}
        keyOf={({ id }) => id}
        empty={facts.noLines}
        pages={pages}
      />
      <Dialog title={facts.details} isOpen={shown !== undefined} onClose={() => setShown(undefined)}>
        <pre className={styles['recorded']} tabIndex={0} dir="auto">
          {showDirections(JSON.stringify(shown?.line ?? {}, null, 2))}
        </pre>
      </Dialog>
    </Page>
  );
}

function Export({ query }: { readonly query: ReturnType<typeof auditQuery> }) {
  const reading = useMutation({
    mutationFn: async () => {
      const search = new URLSearchParams({ limit: String(MAX_LINES) });
      for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, value);
      const answer = await request(`api/admin/audit/export?${search.toString()}`, { timeoutMs: 120_000 });
      download(await answer.blob(), 'audit.ndjson');
    },
  });
  return (
    <div className={styles['actions']}>
      <Button onClick={() => reading.mutate()} disabled={reading.isPending}>
        {reading.isPending ? facts.downloading : facts.download}
      </Button>
      <span className={styles['quiet']}>{facts.downloadAbout(formatCount(MAX_LINES))}</span>
      {reading.isError ? <Failure error={reading.error} /> : null}
    </div>
  );
}

const columns = (onShow: (row: AuditRow) => void): readonly Column<AuditRow>[] => [
  { head: facts.time, cell: ({ at }) => formatTime(at) },
  { head: facts.owner, cell: ({ owner }) => <Id>{owner}</Id> },
  { head: facts.action, cell: ({ action }) => action },
  { head: facts.what, cell: ({ what }) => <Text>{what}</Text> },
  {
    head: facts.outcome,
    cell: ({ outcome, isRefused }) => <Badge tone={isRefused ? 'bad' : 'neutral'}>{outcome}</Badge>,
  },
  { head: facts.by, cell: ({ by }) => <Id>{by}</Id> },
  { head: facts.details, cell: (row) => <Button onClick={() => onShow(row)}>{facts.details}</Button> },
];
