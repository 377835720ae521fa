import { Button } from '../../../components/button.js';
import { type Column, DataTable } from '../../../components/data-table.js';
import { Failure, Loading } from '../../../components/notice.js';
import { shared } from '../../../text/shared.js';
import { work } from '../../../text/records/work.js';
import type { Pages } from './use-pages.js';

interface PagedTableProps<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly empty: string;
  readonly pages: Pages<unknown>;
}

/** A table of rows that are read page by page. */
export function PagedTable<Row>({ pages, empty, ...table }: PagedTableProps<Row>) {
  if (pages.isPending) return <Loading />;
  return (
    <>
      {pages.error === null ? null : <Failure error={pages.error} onRetry={pages.reload} />}
      <DataTable {...table} empty={pages.hasMore ? work.noneHere : empty} />
      {pages.hasMore ? (
        <div>
          <Button onClick={pages.readMore} disabled={pages.isReadingMore}>
            {pages.isReadingMore ? shared.loading : work.more}
          </Button>
        </div>
      ) : null}
    </>
  );
}
