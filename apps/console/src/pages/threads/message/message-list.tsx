import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown } from 'lucide-react';
import { useCallback, useEffect, useMemo, useRef } from 'react';
import { Button } from '../../../components/button.js';
import { talk } from '../../../text/talk.js';
import type { ConversationState } from '../state/conversation-state.js';
import { type Row, rowsOf } from '../state/rows.js';
import { AnswerRow } from './answer-row.js';
import { useFollowedEnd } from './followed-end.js';
import styles from './message-list.module.css';
import type { MessageActions } from './message-actions.js';
import { SaidRow } from './said-row.js';
import { ResultText } from './tool-call.js';

interface MessageListProps {
  readonly conversation: ConversationState;
  readonly isReadingOlder: boolean;
  readonly onOlder: () => void;
  readonly actions: MessageActions;
}

const ESTIMATED_PIXELS = 140;
/** The page follows the newest message while less than this is below what is shown. */
const AT_END_PIXELS = 80;

/** The messages, of which only those that can be seen are elements of the page. It stays at the end while an answer streams. */
export function MessageList({ conversation, isReadingOlder, onOlder, actions }: MessageListProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useRows(conversation);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ESTIMATED_PIXELS,
    getItemKey: (index) => rows[index]?.key ?? index,
    overscan: 6,
    anchorTo: 'end',
    followOnAppend: true,
    scrollEndThreshold: AT_END_PIXELS,
  });
  const items = virtual.getVirtualItems();
  const isAtEnd = useCallback(() => virtual.isAtEnd(AT_END_PIXELS), [virtual]);
  const scrollToEnd = useCallback(() => virtual.scrollToEnd(), [virtual]);
  const { onScroll, hasScrolled } = useFollowedEnd(scroller, {
    isAtEnd,
    scrollToEnd,
    height: virtual.getTotalSize(),
    sent: conversation.pending.at(-1)?.id,
  });
  const hasOlder = typeof conversation.olderBefore === 'number';
  const hasRows = rows.length > 0;
  const isAtStart = (items[0]?.index ?? 0) === 0;
  const { olderBefore } = conversation;
  useEffect(() => {
    // Before it was scrolled to its end, a list begins with its first message.
    if (typeof olderBefore === 'number' && isAtStart && hasScrolled.current) onOlder();
  }, [olderBefore, isAtStart, onOlder, hasScrolled]);
  return (
    <div className={styles['around']}>
      <div
        ref={scroller}
        className={styles['scroll']}
        role="region"
        aria-label={talk.messages}
        tabIndex={0}
        onScroll={onScroll}
        data-scrolls="messages"
      >
        {hasOlder ? (
          <div className={styles['older']}>
            <Button disabled={isReadingOlder} onClick={onOlder}>
              {isReadingOlder ? talk.loadingOlder : talk.olderMessages}
            </Button>
          </div>
        ) : null}
        <div className={styles['rows']} style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, start, key }) => {
            const row = rows[index];
            return row === undefined ? null : (
              <div
                key={key}
                ref={virtual.measureElement}
                data-index={index}
                className={styles['row']}
                style={{ transform: `translateY(${start}px)` }}
              >
                <RowView row={row} conversation={conversation} actions={actions} />
              </div>
            );
          })}
        </div>
      </div>
      {hasRows && !virtual.isAtEnd(AT_END_PIXELS) ? (
        <Button
          className={styles['toEnd']}
          isIcon
          aria-label={talk.toEnd}
          title={talk.toEnd}
          onClick={() => virtual.scrollToEnd()}
        >
          <ArrowDown size={18} aria-hidden />
        </Button>
      ) : null}
    </div>
  );
}

/** Rows that have not changed stay the same objects. */
function useRows(conversation: ConversationState): readonly Row[] {
  const before = useRef<readonly Row[]>([]);
  const { stored, live, pending } = conversation;
  const rows = useMemo(() => rowsOf({ stored, live, pending }, before.current), [stored, live, pending]);
  useEffect(() => {
    before.current = rows;
  }, [rows]);
  return rows;
}

interface RowViewProps {
  readonly row: Row;
  readonly conversation: ConversationState;
  readonly actions: MessageActions;
}

function RowView({ row, conversation, actions }: RowViewProps) {
  const { run, outputs, tasks } = conversation;
  switch (row.kind) {
    case 'said':
      return <SaidRow said={row.said} canEdit={run === undefined} actions={actions} />;
    case 'answer':
      return (
        <AnswerRow
          answer={row.answer}
          results={row.results}
          isLast={row.isLast}
          outputs={outputs}
          tasks={tasks}
          isUnderWay={run !== undefined && row.answer.runId === run.runId}
          actions={actions}
        />
      );
    case 'result':
      return <ResultText result={row.result} />;
  }
}
