import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react';
import { Badge } from '../../components/badge.js';
import { explain } from '../../text/explain.js';
import { formatDuration } from '../../text/format.js';
import styles from './runs.module.css';
import { filterRows, spanOf, type TimelineFilter, type TimelineRow } from './timeline-rows.js';

const ROW_PIXELS = 36;
const OVERSCAN = 12;
const filters = Object.keys(explain.filters) as readonly TimelineFilter[];

interface TimelineProps {
  readonly rows: readonly TimelineRow[];
  /** `seq` of the chosen entry. */
  readonly chosen: number;
  readonly onChoose: (seq: number) => void;
}

/** The lines of a trace, of which only the visible ones are in the page; arrow keys choose one. */
export function Timeline({ rows, chosen, onChoose }: TimelineProps) {
  const [filter, setFilter] = useState<TimelineFilter>('all');
  const shown = useMemo(() => filterRows(rows, filter), [rows, filter]);
  return (
    <section className={styles['timeline']} aria-label={explain.timeline}>
      <label className={styles['filter']}>
        {explain.filter}{' '}
        <select value={filter} onChange={({ target }) => setFilter(target.value as TimelineFilter)}>
          {filters.map((name) => (
            <option key={name} value={name}>
              {explain.filters[name]}
            </option>
          ))}
        </select>
      </label>
      <RowList rows={shown} spanMs={spanOf(rows)} chosen={chosen} onChoose={onChoose} />
    </section>
  );
}

function RowList({ rows, spanMs, chosen, onChoose }: TimelineProps & { readonly spanMs: number }) {
  const scroller = useRef<HTMLDivElement>(null);
  const at = rows.findIndex(({ entry }) => entry.seq === chosen);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PIXELS,
    overscan: OVERSCAN,
  });
  useEffect(() => {
    if (at >= 0) virtual.scrollToIndex(at, { align: 'auto' });
  }, [at, virtual]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = rows[nextIndex(event.key, at, rows.length)];
    if (next === undefined) return;
    event.preventDefault();
    onChoose(next.entry.seq);
  };
  const visible = virtual.getVirtualItems();
  const isVisible = visible.some(({ index }) => index === at);
  return (
    <div
      ref={scroller}
      className={styles['rows']}
      role="listbox"
      tabIndex={0}
      aria-label={explain.steps}
      aria-activedescendant={isVisible ? idOf(chosen) : undefined}
      onKeyDown={onKeyDown}
    >
      <div role="presentation" style={{ height: virtual.getTotalSize(), position: 'relative' }}>
        {visible.map(({ index, start }) => {
          const row = rows[index];
          return row === undefined ? null : (
            <Row
              key={row.entry.seq}
              row={row}
              top={start}
              spanMs={spanMs}
              isChosen={index === at}
              onChoose={onChoose}
            />
          );
        })}
      </div>
    </div>
  );
}

/** The index that a key moves to; -1 for other keys. */
function nextIndex(key: string, at: number, count: number): number {
  const page = 10;
  if (key === 'ArrowDown') return Math.min(at + 1, count - 1);
  if (key === 'ArrowUp') return Math.max(at - 1, 0);
  if (key === 'PageDown') return Math.min(at + page, count - 1);
  if (key === 'PageUp') return Math.max(at - page, 0);
  if (key === 'Home') return 0;
  return key === 'End' ? count - 1 : -1;
}

const idOf = (seq: number): string => `step-${seq}`;

interface RowProps {
  readonly row: TimelineRow;
  readonly top: number;
  readonly spanMs: number;
  readonly isChosen: boolean;
  readonly onChoose: (seq: number) => void;
}

function Row({ row, top, spanMs, isChosen, onChoose }: RowProps) {
  const { entry, offsetMs, durationMs, title, detail, tone } = row;
  const isClaim = entry.type === 'claimed' || entry.type === 'taken_over';
  return (
    <div
      id={idOf(entry.seq)}
      role="option"
      aria-selected={isChosen}
      className={`${styles['row']} ${isClaim ? styles['claim'] : ''}`}
      style={{ transform: `translateY(${top}px)`, height: ROW_PIXELS }}
      onClick={() => onChoose(entry.seq)}
    >
      <span className={styles['offset']}>+{formatDuration(offsetMs)}</span>
      <Badge tone={tone}>{title}</Badge>
      <span className={styles['rowDetail']}>{detail}</span>
      <span className={styles['duration']}>{durationMs === null ? '' : formatDuration(durationMs)}</span>
      <span className={styles['track']} aria-hidden="true">
        <span className={styles['bar']} style={barOf({ offsetMs, durationMs, spanMs })} />
      </span>
    </div>
  );
}

interface Bar {
  readonly offsetMs: number;
  readonly durationMs: number | null;
  readonly spanMs: number;
}

const barOf = ({ offsetMs, durationMs, spanMs }: Bar) => {
  const share = (ms: number): number => (spanMs === 0 ? 0 : (100 * ms) / spanMs);
  return { insetInlineStart: `${share(offsetMs)}%`, inlineSize: `max(2px, ${share(durationMs ?? 0)}%)` };
};
