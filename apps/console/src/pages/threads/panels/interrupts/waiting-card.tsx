import { Badge } from '../../../../components/badge.js';
import { Button } from '../../../../components/button.js';
import { panels } from '../../../../text/panels.js';
import { ApprovalCard } from './approval-card.js';
import { Countdown } from './countdown.js';
import type { DecisionProps } from './decision-props.js';
import { Faults } from './faults.js';
import styles from './interrupts.module.css';
import { OtherCard } from './other-card.js';
import { QuestionCard } from './question-card.js';
import { askingTask, decisionOnExpiry, readCall, readQuestion } from './waiting.js';

const { interrupts: texts } = panels;

/** One thing that waits for a person: who asks, until when, and a way to decide. */
export function WaitingCard({ onExpired, ...props }: DecisionProps & { readonly onExpired: () => void }) {
  const { waiting } = props;
  const task = askingTask(waiting);
  return (
    <li className={styles['card']} data-interrupt={waiting.interrupt_id}>
      <WaitingBody {...props} />
      {task === undefined ? null : <p className={styles['quiet']}>{texts.asks(task)}</p>}
      {waiting.expires_at === null ? null : (
        <Countdown expiresAt={waiting.expires_at} then={decisionOnExpiry(waiting)} onExpired={onExpired} />
      )}
    </li>
  );
}

function WaitingBody(props: DecisionProps) {
  const { waiting, draft, faults, isBusy, isAlone, onDraft, onSend } = props;
  const call = readCall(waiting);
  if (call !== undefined) return <ApprovalCard {...props} call={call} />;
  const answer = (value: unknown): void => {
    onDraft({ type: 'answer', value });
    if (isAlone) onSend({ type: 'answer', value });
  };
  const question = readQuestion(waiting);
  if (waiting.kind === 'paused')
    return (
      <>
        <h3>{texts.paused}</h3>
        <p>{texts.pausedAbout}</p>
        <Faults faults={faults} />
        <div className={styles['actions']}>
          <Button look="primary" disabled={isBusy} onClick={() => answer(true)}>
            {texts.resume}
          </Button>
        </div>
      </>
    );
  return (
    <>
      {question === undefined ? (
        <OtherCard value={waiting.value} schema={waiting.response_schema} isBusy={isBusy} onAnswer={answer} />
      ) : (
        <QuestionCard question={question} isBusy={isBusy} onAnswer={answer} />
      )}
      {draft?.type === 'answer' && !isAlone ? <Badge tone="accent">{texts.chosen.answer}</Badge> : null}
      <Faults faults={faults} />
    </>
  );
}
