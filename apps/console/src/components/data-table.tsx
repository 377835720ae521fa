import type { ReactNode } from 'react';
import styles from './data-table.module.css';

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => ReactNode;
  readonly isNumber?: boolean;
}

interface DataTableProps<Row> {
  /** What the table lists, for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** What is said when there are no rows. */
  readonly empty: string;
}

/** A table that scrolls sideways on narrow screens. */
export function DataTable<Row>({ caption, columns, rows, keyOf, empty }: DataTableProps<Row>) {
  return (
    // Focusable, so that it can be scrolled by keyboard.
    <div className={styles['scroll']} role="region" aria-label={caption} tabIndex={0}>
      <table className={styles['table']}>
        <thead>
          <tr>
            {columns.map(({ head, isNumber }) => (
              <th key={head} scope="col" className={isNumber === true ? styles['number'] : undefined}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ head, cell, isNumber }) => (
                <td key={head} className={isNumber === true ? styles['number'] : undefined}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
          {rows.length > 0 ? null : (
            <tr>
              <td colSpan={columns.length} className={styles['empty']}>
                {empty}
              </td>
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}
