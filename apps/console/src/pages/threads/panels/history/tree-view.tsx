import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef, useState } from 'react';
import { history as texts } from '../../../../text/panels-history.js';
import { revealAsText } from '../interrupts/hidden-characters.js';
import styles from './history.module.css';
import { CHILDREN_OF_WINDOW, type OpenNodes, toggled, type TreeRow, treeRows } from './json-tree.js';

const ROW_PX = 26;
const INDENT_PX = 14;

/** A value of any size as a tree: only rows in sight are in the page, and only what is open is looked at. */
export function JsonTree({ value }: { readonly value: unknown }) {
  const [open, setOpen] = useState<OpenNodes>(() => new Map([['', CHILDREN_OF_WINDOW]]));
  const rows = useMemo(() => treeRows(value, open), [value, open]);
  const scroll = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
  });
  return (
    <div ref={scroll} className={styles['tree']} role="region" aria-label={texts.tree} tabIndex={0}>
      <div className={styles['rows']} style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const row = rows[index];
          return row === undefined ? null : (
            <div
              key={row.key}
              className={styles['row']}
              style={{ transform: `translateY(${start}px)`, paddingInlineStart: row.depth * INDENT_PX }}
            >
              <Row row={row} onToggle={() => setOpen(toggled(open, row))} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

function Row({ row, onToggle }: { readonly row: TreeRow; readonly onToggle: () => void }) {
  const text = <span className={styles['value']}>{revealAsText(row.text)}</span>;
  const label = row.label === '' ? null : <span className={styles['label']}>{revealAsText(row.label)}: </span>;
  switch (row.kind) {
    case 'leaf':
    case 'line':
      return (
        <>
          {label}
          {text}
        </>
      );
    case 'more':
      return (
        <button type="button" className={styles['toggle']} onClick={onToggle}>
          {row.text}
        </button>
      );
    case 'node':
      return (
        <button type="button" className={styles['toggle']} aria-expanded={row.isOpen} onClick={onToggle}>
          <span aria-hidden="true">{row.isOpen ? '▾' : '▸'}</span> {label}
          {text}
        </button>
      );
  }
}
