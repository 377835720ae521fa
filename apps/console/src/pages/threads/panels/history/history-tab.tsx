import type { threadRoutes } from '@caribou/contracts';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef, useState } from 'react';
import { endpoint } from '../../../../api/endpoint.js';
import { Badge } from '../../../../components/badge.js';
import { Button } from '../../../../components/button.js';
import { Failure, Loading } from '../../../../components/notice.js';
import { formatTime } from '../../../../text/format.js';
import { panels } from '../../../../text/panels.js';
import { history as texts } from '../../../../text/panels-history.js';
import { useConversation } from '../../conversation-context.js';
import common from '../panels.module.css';
import { nextOf, type Step, STEP_FIELDS, stepOf } from './checkpoints.js';
import styles from './history.module.css';
import { StepDetails } from './step-details.js';

const readHistory = endpoint<typeof threadRoutes.history>('POST', '/threads/:thread_id/history');

const STEPS_OF_PAGE = 100;
const ROW_PX = 76;

/** The steps of the conversation, the newest first, in pages; and one of them in full. */
export function HistoryTab() {
  const { threadId, revision } = useConversation();
  const [selected, setSelected] = useState<Step | undefined>(undefined);
  const [marked, setMarked] = useState<Step | undefined>(undefined);
  const history = useInfiniteQuery({
    queryKey: ['threads', threadId, 'history', revision],
    initialPageParam: '',
    queryFn: ({ signal, pageParam }) =>
      readHistory({
        params: { thread_id: threadId },
        body: { limit: STEPS_OF_PAGE, select: STEP_FIELDS, ...(pageParam === '' ? {} : { before: pageParam }) },
        signal,
      }),
    // A page ends early when it gets large; only an empty one is the last.
    getNextPageParam: (page) => page.at(-1)?.checkpoint?.checkpoint_id,
  });
  const steps = useMemo(
    () => (history.data?.pages ?? []).flat().flatMap((state) => stepOf(state) ?? []),
    [history.data],
  );
  if (selected !== undefined)
    return (
      <StepDetails
        step={selected}
        marked={marked}
        onMark={() => setMarked(selected)}
        onBack={() => setSelected(undefined)}
      />
    );
  if (history.error !== null) return <Failure error={history.error} onRetry={() => void history.refetch()} />;
  if (history.data === undefined) return <Loading />;
  return (
    <div className={styles['tab']}>
      <h2>{panels.tabs.history}</h2>
      <p className={common['quiet']}>{texts.about}</p>
      {steps.length === 0 ? <p>{texts.none}</p> : <StepList steps={steps} marked={marked} onSelect={setSelected} />}
      {history.hasNextPage ? (
        <Button disabled={history.isFetchingNextPage} onClick={() => void history.fetchNextPage()}>
          {panels.earlier}
        </Button>
      ) : null}
    </div>
  );
}

interface StepListProps {
  readonly steps: readonly Step[];
  readonly marked: Step | undefined;
  readonly onSelect: (step: Step) => void;
}

/** Only the steps in sight are in the page. */
function StepList({ steps, marked, onSelect }: StepListProps) {
  const scroll = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: steps.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
  });
  return (
    <div ref={scroll} className={styles['steps']} role="region" aria-label={texts.list} tabIndex={0}>
      <ol className={styles['rows']} style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const step = steps[index];
          return step === undefined ? null : (
            <li
              key={step.id}
              className={styles['step']}
              style={{ transform: `translateY(${start}px)` }}
              aria-setsize={steps.length}
              aria-posinset={index + 1}
            >
              <button type="button" className={styles['open']} onClick={() => onSelect(step)}>
                <span>{step.title}</span>
                <span className={common['quiet']}>{step.at === undefined ? '' : formatTime(step.at)}</span>
                <span className={common['quiet']}>{nextOf(step)}</span>
              </button>
              {step.id === marked?.id ? <Badge tone="accent">{texts.marked}</Badge> : null}
            </li>
          );
        })}
      </ol>
    </div>
  );
}
