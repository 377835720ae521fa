import { useVirtualizer } from '@tanstack/react-virtual';
import { Pencil, Plus, Trash2 } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { Link } from 'react-router';
import { Badge, type Tone } from '../../../components/badge.js';
import { Button } from '../../../components/button.js';
import { visibleText } from '../../../components/markdown/visible-text.js';
import { Failure } from '../../../components/notice.js';
import { formatTime } from '../../../text/format.js';
import { shared } from '../../../text/shared.js';
import { talk } from '../../../text/talk.js';
import styles from './list.module.css';
import { DeleteThread, RenameThread } from './thread-dialogs.js';
import type { ListedThread } from './thread-titles.js';
import { useListChanges, useThreads } from './use-threads.js';

const ROW_PIXELS = 64;
/** Older threads are read when fewer than these are left below what is shown. */
const AHEAD = 40;

const tones: Readonly<Record<ListedThread['status'], Tone>> = {
  idle: 'neutral',
  busy: 'accent',
  interrupted: 'warn',
  error: 'bad',
};

interface ThreadListProps {
  readonly openId: string | undefined;
  readonly onNew: () => void;
  /** The open conversation was deleted. */
  readonly onDeleted: (threadId: string) => void;
}

/** All conversations of the person. Only those that can be seen are elements of the page. */
export function ThreadList({ openId, onNew, onDeleted }: ThreadListProps) {
  const [search, setSearch] = useState('');
  const { threads, isReading, error, retry, readMore } = useThreads(search);
  return (
    <section className={styles['list']} aria-label={talk.conversations}>
      <div className={styles['head']}>
        <input
          type="search"
          className={styles['search']}
          placeholder={talk.search}
          aria-label={talk.search}
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
        <Button isIcon aria-label={talk.newConversation} title={talk.newConversation} onClick={onNew}>
          <Plus size={18} aria-hidden />
        </Button>
      </div>
      {error === null ? null : <Failure error={error} onRetry={retry} />}
      {threads.length > 0 ? (
        <Threads threads={threads} openId={openId} onEnd={readMore} onDeleted={onDeleted} />
      ) : (
        <p className={styles['empty']} role="status">
          {emptyText(search, isReading)}
        </p>
      )}
    </section>
  );
}

function emptyText(search: string, isReading: boolean): string {
  if (isReading) return search.trim() === '' ? shared.loading : talk.searching;
  return search.trim() === '' ? talk.noConversations : talk.noMatch;
}

interface ThreadsProps {
  readonly threads: readonly ListedThread[];
  readonly openId: string | undefined;
  readonly onEnd: () => void;
  readonly onDeleted: (threadId: string) => void;
}

function Threads({ threads, openId, onEnd, onDeleted }: ThreadsProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const [asked, setAsked] = useState<
    { readonly what: 'rename' | 'delete'; readonly thread: ListedThread } | undefined
  >();
  const changes = useListChanges();
  const virtual = useVirtualizer({
    count: threads.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PIXELS,
    overscan: 8,
  });
  const rows = virtual.getVirtualItems();
  const last = rows.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= threads.length - AHEAD) onEnd();
  }, [last, threads.length, onEnd]);
  return (
    <>
      <div ref={scroller} className={styles['scroll']} data-scrolls="conversations">
        <ul className={styles['rows']} style={{ height: virtual.getTotalSize() }}>
          {rows.map(({ index, start }) => {
            const thread = threads[index];
            return thread === undefined ? null : (
              <li
                key={thread.thread_id}
                className={styles['row']}
                style={{ transform: `translateY(${start}px)` }}
                aria-setsize={threads.length}
                aria-posinset={index + 1}
              >
                <ThreadRow thread={thread} isOpen={thread.thread_id === openId} onAsk={setAsked} />
              </li>
            );
          })}
        </ul>
      </div>
      {asked?.what === 'rename' ? (
        <RenameThread
          thread={asked.thread}
          onClose={() => setAsked(undefined)}
          onDone={(title) => changes.renamed(asked.thread.thread_id, title)}
        />
      ) : null}
      {asked?.what === 'delete' ? (
        <DeleteThread
          thread={asked.thread}
          onClose={() => setAsked(undefined)}
          onDone={() => {
            changes.removed(asked.thread.thread_id);
            onDeleted(asked.thread.thread_id);
          }}
        />
      ) : null}
    </>
  );
}

interface ThreadRowProps {
  readonly thread: ListedThread;
  readonly isOpen: boolean;
  readonly onAsk: (asked: { readonly what: 'rename' | 'delete'; readonly thread: ListedThread }) => void;
}

function ThreadRow({ thread, isOpen, onAsk }: ThreadRowProps) {
  const { thread_id: id, status, updated_at: updatedAt } = thread;
  const title = visibleText(thread.title);
  return (
    <>
      <Link to={`/threads/${id}`} className={styles['link'] ?? ''} aria-current={isOpen ? 'page' : undefined}>
        <span className={styles['title']}>{title}</span>
        <span className={styles['about']}>
          {status === 'idle' ? null : <Badge tone={tones[status]}>{talk.status[status]}</Badge>} {formatTime(updatedAt)}
        </span>
      </Link>
      <span className={styles['tools']}>
        <Button look="quiet" isIcon aria-label={talk.renameOf(title)} onClick={() => onAsk({ what: 'rename', thread })}>
          <Pencil size={15} aria-hidden />
        </Button>
        <Button look="quiet" isIcon aria-label={talk.deleteOf(title)} onClick={() => onAsk({ what: 'delete', thread })}>
          <Trash2 size={15} aria-hidden />
        </Button>
      </span>
    </>
  );
}
