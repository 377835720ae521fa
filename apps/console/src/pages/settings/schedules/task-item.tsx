import { useState } from 'react';
import { Badge, type Tone } from '../../../components/badge.js';
import { Button } from '../../../components/button.js';
import { DataTable } from '../../../components/data-table.js';
import { formatTime } from '../../../text/format.js';
import { settings } from '../../../text/settings.js';
import { scheduleTexts as texts } from '../../../text/settings-schedules.js';
import { Loaded } from '../parts/loaded.js';
import styles from '../parts/parts.module.css';
import { plainText } from '../parts/plain-text.js';
import { ThreadLink } from '../parts/thread-link.js';
import { type Task, useTaskRuns } from './api.js';
import { describeSchedule } from './task-draft.js';

export type TaskStep = 'pause' | 'resume' | 'trigger';

const TONES: Readonly<Record<Task['status'], Tone>> = {
  enabled: 'good',
  paused: 'warn',
  running: 'accent',
  completed: 'neutral',
  failed: 'bad',
};

interface TaskItemProps {
  readonly task: Task;
  readonly isBusy: boolean;
  readonly onStep: (step: TaskStep) => void;
  readonly onDelete: () => void;
}

export function TaskItem({ task, isBusy, onStep, onDelete }: TaskItemProps) {
  const [isOpen, setOpen] = useState(false);
  const facts = [
    plainText(describeSchedule(task), 200),
    task.timezone,
    texts.runs(task.run_count),
    task.next_run_at === null ? '' : texts.next(formatTime(task.next_run_at)),
    task.last_run_at === null ? '' : texts.last(formatTime(task.last_run_at)),
  ];
  const isOn = task.status === 'enabled' || task.status === 'running';
  return (
    <li className={styles['item']}>
      <details className={styles['itemText']} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          <strong>{plainText(task.title, 200)}</strong>{' '}
          <Badge tone={TONES[task.status]}>{texts.status[task.status]}</Badge>
          <p className={styles['hint']}>{facts.filter(Boolean).join(' · ')}</p>
          {task.last_error === null ? null : <p className={styles['fault']}>{plainText(task.last_error, 500)}</p>}
        </summary>
        <p className={styles['wrap']}>{plainText(task.prompt)}</p>
        {isOpen ? <Outcomes taskId={task.id} /> : null}
      </details>
      <div className={styles['row']}>
        <Button disabled={isBusy} onClick={() => onStep('trigger')}>
          {texts.trigger}
        </Button>
        <Button disabled={isBusy} onClick={() => onStep(isOn ? 'pause' : 'resume')}>
          {isOn ? texts.pause : texts.resume}
        </Button>
        <Button look="danger" onClick={onDelete}>
          {settings.delete}
        </Button>
      </div>
    </li>
  );
}

const Outcomes = ({ taskId }: { readonly taskId: string }) => (
  <Loaded query={useTaskRuns(taskId)}>
    {(runs) => (
      <DataTable
        caption={texts.outcomes}
        empty={texts.noOutcomes}
        rows={runs}
        keyOf={({ id }) => id}
        columns={[
          { head: texts.due, cell: ({ scheduled_for }) => formatTime(scheduled_for) },
          { head: texts.by, cell: ({ trigger }) => texts.started[trigger] },
          { head: texts.outcome, cell: ({ status }) => texts.outcomeStates[status] },
          {
            head: texts.conversation,
            cell: ({ thread_id }) => <ThreadLink threadId={thread_id} label={texts.open} />,
          },
          { head: texts.error, cell: ({ error }) => plainText(error ?? '', 300) },
        ]}
      />
    )}
  </Loaded>
);
