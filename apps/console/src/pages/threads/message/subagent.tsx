import { Badge, type Tone } from '../../../components/badge.js';
import { visibleText } from '../../../components/markdown/visible-text.js';
import { formatCount } from '../../../text/format.js';
import { talk } from '../../../text/talk.js';
import type { Task, TaskStep } from '../state/conversation-state.js';
import type { Call, Result } from '../state/items.js';
import { summaryOf } from './arguments.js';
import styles from './message.module.css';

interface SubagentProps {
  readonly call: Call;
  readonly task: Task | undefined;
  readonly result: Result | undefined;
}

const tones: Readonly<Record<Task['status'], Tone>> = {
  running: 'accent',
  completed: 'good',
  failed: 'bad',
  timed_out: 'bad',
  cancelled: 'warn',
};

const isStatus = (status: string | undefined): status is Task['status'] =>
  status !== undefined && Object.hasOwn(tones, status);

/** Steps that are shown without a click: the newest. */
const SHOWN_STEPS = 4;

/** A subagent, with its steps while it works. */
export function Subagent({ call, task, result }: SubagentProps) {
  const ended = result?.subagent?.status;
  const status = isStatus(ended) ? ended : task?.status;
  if (status === undefined) return null;
  const steps = task?.steps ?? [];
  return (
    <div className={styles['task']} data-task={call.id}>
      <p>
        {talk.subagent(visibleText(task?.description || summaryOf(call)))}{' '}
        <Badge tone={tones[status]}>{talk.taskState[status]}</Badge>{' '}
        {task?.tokens === undefined ? null : (
          <span className={styles['note']}>{talk.taskTokens(formatCount(task.tokens))}</span>
        )}
      </p>
      {steps.length > SHOWN_STEPS ? (
        <details className={styles['fold']}>
          <summary>{talk.steps(formatCount(steps.length))}</summary>
          <Steps steps={steps} />
        </details>
      ) : (
        <Steps steps={steps} />
      )}
    </div>
  );
}

const Steps = ({ steps }: { readonly steps: readonly TaskStep[] }) => (
  <ol className={styles['steps']}>
    {steps.map(({ index, text, tools }) => (
      <li key={index}>
        {tools.length === 0 ? null : <code>{tools.join(', ')}</code>} {visibleText(text.slice(0, 300))}
      </li>
    ))}
  </ol>
);
