import { useCallback } from 'react';
import { Button } from '../../../../components/button.js';
import { Failure, Notice } from '../../../../components/notice.js';
import { panels } from '../../../../text/panels.js';
import type { Draft } from './decisions.js';
import styles from './interrupts.module.css';
import { useDecisions, useWaiting } from './use-decisions.js';
import { readCall } from './waiting.js';
import { WaitingCard } from './waiting-card.js';

const { interrupts: texts } = panels;

/** All that the conversation waits for. One decision is sent at once, several together. */
export function WaitingCards() {
  const { data: waiting = [], error: readError, refetch } = useWaiting();
  const { drafts, faults, error, isBusy, isOutdated, setDraft, send, reload } = useDecisions(waiting);
  const onExpired = useCallback(() => void reload(), [reload]);
  const notice = isOutdated ? <Notice tone="warn">{texts.decided}</Notice> : null;
  if (readError !== null) return <Failure error={readError} onRetry={() => void refetch()} />;
  if (waiting.length === 0) return notice;
  const isAlone = waiting.length === 1;
  const decided = waiting.filter(({ interrupt_id: id }) => drafts.has(id)).length;
  const approvable = waiting.filter((each) => each.may_decide && readCall(each)?.allowed.includes('approve') === true);
  const approveAll = (): void => {
    void send(new Map<string, Draft>(approvable.map(({ interrupt_id: id }) => [id, { type: 'approve' }])));
  };
  return (
    <section className={styles['cards']} aria-label={texts.title}>
      <h2>{texts.title}</h2>
      {notice}
      {isAlone ? null : <p>{texts.many(waiting.length)}</p>}
      <ul>
        {waiting.map((each) => (
          <WaitingCard
            key={each.interrupt_id}
            waiting={each}
            draft={drafts.get(each.interrupt_id)}
            faults={faults[each.interrupt_id] ?? []}
            isBusy={isBusy}
            isAlone={isAlone}
            onDraft={(draft) => setDraft(each.interrupt_id, draft)}
            onSend={(draft) => void send(new Map([[each.interrupt_id, draft]]))}
            onExpired={onExpired}
          />
        ))}
      </ul>
      {isAlone ? null : (
        <div className={styles['actions']}>
          {approvable.length < 2 ? null : (
            <Button disabled={isBusy} onClick={approveAll}>
              {texts.approveAll}
            </Button>
          )}
          <Button look="primary" disabled={isBusy || decided === 0} onClick={() => void send(drafts)}>
            {texts.send(decided, waiting.length)}
          </Button>
        </div>
      )}
      {error === undefined ? null : <Failure error={error} />}
      <p role="status" className={styles['quiet']}>
        {isBusy ? texts.sending : ''}
      </p>
    </section>
  );
}
