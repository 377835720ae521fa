import type { DelegatedTaskReply, taskRoutes } from '@caribou/contracts';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { endpoint } from '../../../../api/endpoint.js';
import { Badge, type Tone } from '../../../../components/badge.js';
import { Button } from '../../../../components/button.js';
import { Failure, Loading } from '../../../../components/notice.js';
import { formatCount, formatDuration, formatTime } from '../../../../text/format.js';
import { panels } from '../../../../text/panels.js';
import { useConversation } from '../../conversation-context.js';
import { HiddenText } from '../interrupts/hidden-text.js';
import styles from '../panels.module.css';
import { type Step, stepOf } from './task-steps.js';

const getTask = endpoint<typeof taskRoutes.get>('GET', '/threads/:thread_id/runs/:run_id/tasks/:task_id');

const { tasks: texts } = panels;

const REFRESH_MS = 3_000;
/** Steps that are shown at once. */
const STEPS_OF_PAGE = 50;

const tones: Readonly<Record<DelegatedTaskReply['status'], Tone>> = {
  waiting: 'neutral',
  running: 'accent',
  completed: 'good',
  failed: 'bad',
  cancelled: 'warn',
  timed_out: 'bad',
};

const isOver = ({ ended_at: endedAt }: DelegatedTaskReply): boolean => endedAt !== null;

/** One task of a subagent; its steps are read when they are opened. */
export function TaskItem({ task }: { readonly task: DelegatedTaskReply }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <li className={styles['item']}>
      <span className={styles['spread']}>
        <strong>
          <HiddenText text={task.description === '' ? task.subagent_type : task.description} />
        </strong>
        <Badge tone={tones[task.status]}>{texts.status[task.status]}</Badge>
      </span>
      <span className={styles['quiet']}>{factsOf(task).join(' · ')}</span>
      {task.stop_reason === null ? null : <span className={styles['quiet']}>{texts.stopped(task.stop_reason)}</span>}
      {task.error === null ? null : (
        <span className={styles['warn']}>
          <HiddenText text={task.error} />
        </span>
      )}
      <span>
        <Button look="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {texts.steps}
        </Button>
      </span>
      {isOpen ? <Steps task={task} /> : null}
    </li>
  );
}

function factsOf(task: DelegatedTaskReply): readonly string[] {
  const { started_at: started, ended_at: ended, created_at: created, usage } = task;
  return [
    task.subagent_type,
    task.model_name,
    started === null ? texts.waiting(formatTime(created)) : texts.started(formatTime(started)),
    ...(started === null || ended === null
      ? []
      : [texts.took(formatDuration(new Date(ended).getTime() - new Date(started).getTime()))]),
    texts.calls(formatCount(task.llm_call_count)),
    ...(usage === null ? [] : [texts.tokens(formatCount(usage.total_tokens))]),
    ...(task.attempt > 1 ? [texts.attempt(task.attempt)] : []),
  ].filter((fact) => fact !== '');
}

function Steps({ task }: { readonly task: DelegatedTaskReply }) {
  const { threadId } = useConversation();
  const [count, setCount] = useState(STEPS_OF_PAGE);
  const { data, error, refetch } = useQuery({
    queryKey: ['threads', threadId, 'tasks', task.run_id, 'steps', task.task_id, isOver(task)],
    queryFn: ({ signal }) =>
      getTask({ params: { thread_id: threadId, run_id: task.run_id, task_id: task.task_id }, signal }),
    refetchInterval: isOver(task) ? false : REFRESH_MS,
  });
  if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  const steps = data.messages.map(stepOf);
  return (
    <ol className={styles['list']}>
      {steps.slice(0, count).map((step, index) => (
        <StepItem key={index} step={step} />
      ))}
      {steps.length <= count ? null : (
        <li>
          <Button onClick={() => setCount(count + STEPS_OF_PAGE)}>{panels.more}</Button>
        </li>
      )}
    </ol>
  );
}

const StepItem = ({ step: { by, text, calls } }: { readonly step: Step }) => (
  <li className={styles['item']}>
    <span className={styles['quiet']}>{texts.by[by]}</span>
    {text === '' ? null : <HiddenText text={text} />}
    {calls.map(({ name, args }, index) => (
      <span key={index}>
        {texts.called(name)} <HiddenText text={args} />
      </span>
    ))}
  </li>
);
