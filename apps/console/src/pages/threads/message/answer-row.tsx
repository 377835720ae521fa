import { memo } from 'react';
import { Markdown } from '../../../components/markdown/markdown.js';
import { LongText } from '../../../components/markdown/long-text.js';
import { Notice } from '../../../components/notice.js';
import { formatCount } from '../../../text/format.js';
import { talk } from '../../../text/talk.js';
import type { Output, Task } from '../state/conversation-state.js';
import type { Answer, Result } from '../state/items.js';
import { AnswerFoot } from './answer-foot.js';
import type { MessageActions } from './message-actions.js';
import styles from './message.module.css';
import { ToolCall } from './tool-call.js';

export interface AnswerRowProps {
  readonly answer: Answer;
  readonly results: ReadonlyMap<string, Result>;
  readonly isLast: boolean;
  readonly outputs: ReadonlyMap<string, Output>;
  readonly tasks: ReadonlyMap<string, Task>;
  /** Whether its run is under way: calls without a result may get one. */
  readonly isUnderWay: boolean;
  readonly actions: MessageActions;
}

/** An answer of the agent: its thoughts, its text, and its calls of tools with what they returned. */
export const AnswerRow = memo(function AnswerRow(props: AnswerRowProps) {
  const { answer, results, isLast, outputs, tasks, isUnderWay, actions } = props;
  const isStreaming = answer.state === 'streaming';
  return (
    <article className={styles['answer']} aria-label={talk.agent} aria-busy={isStreaming} data-message={answer.id}>
      {answer.reasoning === '' ? null : (
        <details className={styles['fold']} open={isStreaming && answer.text === ''}>
          <summary>{talk.thinking}</summary>
          <div className={styles['thinking']}>
            <LongText text={answer.reasoning} partChars={4_000} isTail={isStreaming} />
          </div>
        </details>
      )}
      {answer.lacksBeginning ? <p className={styles['note']}>{talk.lacksBeginning}</p> : null}
      {answer.text === '' ? null : answer.isFailure ? (
        <Notice tone="bad">{answer.text}</Notice>
      ) : (
        <Markdown text={answer.text} isGrowing={isStreaming} />
      )}
      {answer.calls.map((call, index) => (
        <ToolCall
          key={`${index} ${call.id}`}
          call={call}
          result={results.get(call.id)}
          output={outputs.get(call.id)}
          task={tasks.get(call.id)}
          isUnderWay={isUnderWay}
        />
      ))}
      {answer.state === 'lost' ? <p className={styles['note']}>{talk.lost}</p> : null}
      {answer.state === 'stored' ? (
        <AnswerFoot answer={answer} hasActions={isLast && !isUnderWay} actions={actions} />
      ) : answer.usage === undefined ? null : (
        <p className={styles['note']}>
          {talk.tokens(formatCount(answer.usage.input), formatCount(answer.usage.output))}
        </p>
      )}
    </article>
  );
}, haveSameParts);

/** Outputs and tasks change with every event of any call: only those of its own calls matter to an answer. */
function haveSameParts(one: AnswerRowProps, other: AnswerRowProps): boolean {
  const { outputs, tasks, ...rest } = other;
  return (
    Object.entries(rest).every(([name, value]) => one[name as keyof typeof rest] === value) &&
    other.answer.calls.every(({ id }) => one.outputs.get(id) === outputs.get(id) && one.tasks.get(id) === tasks.get(id))
  );
}
