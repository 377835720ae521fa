import type { branchRoutes } from '@caribou/contracts';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useNavigate } from 'react-router';
import { endpoint } from '../../../../api/endpoint.js';
import { Button } from '../../../../components/button.js';
import { Failure } from '../../../../components/notice.js';
import { shared } from '../../../../text/shared.js';
import { history as texts } from '../../../../text/panels-history.js';
import { useConversation } from '../../conversation-context.js';
import styles from '../panels.module.css';
import type { Step } from './checkpoints.js';

const branchThread = endpoint<typeof branchRoutes.create>('POST', '/threads/:thread_id/branches');

interface ActionsProps {
  readonly step: Step;
  /** The last answer of the agent at this step, at the end of whose turn a branch begins. */
  readonly answerId: string | undefined;
}

/** Ways to continue from a step: a run from there, or a conversation of its own. */
export function StepActions({ step, answerId }: ActionsProps) {
  const { threadId, runInFlight } = useConversation();
  const [isOpen, setOpen] = useState(false);
  const navigate = useNavigate();
  const branch = useMutation({
    mutationFn: (messageId: string) =>
      branchThread({ params: { thread_id: threadId }, body: { message_id: messageId } }),
    onSuccess: ({ thread_id: id }) => navigate(`/threads/${encodeURIComponent(id)}`),
  });
  const isBusy = runInFlight !== undefined;
  return (
    <section className={styles['stack']} aria-label={texts.continue}>
      <div className={styles['row']}>
        <Button look="primary" disabled={isBusy} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {texts.continue}
        </Button>
        <Button
          disabled={answerId === undefined || branch.isPending}
          title={answerId === undefined ? texts.branchNoAnswer : texts.branchAbout}
          onClick={() => answerId !== undefined && branch.mutate(answerId)}
        >
          {texts.branch}
        </Button>
      </div>
      {isBusy ? <p className={styles['quiet']}>{texts.whileBusy}</p> : null}
      {isOpen && !isBusy ? <ContinueForm step={step} onStarted={() => setOpen(false)} /> : null}
      {branch.error === null ? null : <Failure error={branch.error} />}
    </section>
  );
}

/** Starts a run at the step, with a message, or without one where something is next. */
function ContinueForm({ step, onStarted }: { readonly step: Step; readonly onStarted: () => void }) {
  const { startRun } = useConversation();
  const [text, setText] = useState('');
  const isOptional = step.next.length > 0;
  const run = useMutation({
    mutationFn: () =>
      startRun({
        checkpoint_id: step.id,
        input: text.trim() === '' ? null : { messages: [{ type: 'human', content: text }] },
      }),
    onSuccess: onStarted,
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    run.mutate();
  };
  return (
    <form className={styles['stack']} onSubmit={submit}>
      <p className={styles['quiet']}>{texts.continueAbout}</p>
      <label className={styles['field']}>
        {isOptional ? texts.continueOptional : texts.continueMessage}
        <textarea className={styles['input']} rows={3} value={text} onChange={(event) => setText(event.target.value)} />
      </label>
      <div className={styles['row']}>
        <Button type="submit" look="primary" disabled={run.isPending || (!isOptional && text.trim() === '')}>
          {texts.start}
        </Button>
        <Button onClick={onStarted}>{shared.cancel}</Button>
      </div>
      {run.error === null ? null : <Failure error={run.error} />}
    </form>
  );
}
