import { memo } from 'react';
import { Badge, type Tone } from '../../../components/badge.js';
import { LongText } from '../../../components/markdown/long-text.js';
import { visibleText } from '../../../components/markdown/visible-text.js';
import { formatCount } from '../../../text/format.js';
import { talk } from '../../../text/talk.js';
import type { Output, Task } from '../state/conversation-state.js';
import type { Call, Result } from '../state/items.js';
import { argumentsText, summaryOf } from './arguments.js';
import styles from './message.module.css';
import { Subagent } from './subagent.js';

interface ToolCallProps {
  readonly call: Call;
  readonly result: Result | undefined;
  readonly output: Output | undefined;
  readonly task: Task | undefined;
  readonly isUnderWay: boolean;
}

type CallState = keyof typeof talk.callState;

const tones: Readonly<Record<CallState, Tone>> = { running: 'accent', done: 'good', failed: 'bad', stopped: 'neutral' };

const PART_CHARS = 4_000;

/** A call of a tool: what it was asked for, what it writes while it works, and what it returned. */
export const ToolCall = memo(function ToolCall({ call, result, output, task, isUnderWay }: ToolCallProps) {
  const state = stateOf(result, isUnderWay);
  const summary = summaryOf(call);
  return (
    <section className={styles['call']} aria-label={talk.call(call.name)} data-call={call.id}>
      <details className={styles['fold']}>
        <summary>
          <code>{call.name}</code> <span className={styles['summary']}>{visibleText(summary)}</span>{' '}
          <Badge tone={tones[state]}>{talk.callState[state]}</Badge>
        </summary>
        <h3 className={styles['label']}>{talk.arguments}</h3>
        <div className={styles['bounded']} tabIndex={0} role="region" aria-label={talk.arguments}>
          <LongText text={argumentsText(call)} partChars={PART_CHARS} isCode />
        </div>
        {result === undefined ? null : <ResultText result={result} />}
      </details>
      {call.name === 'task' ? <Subagent call={call} task={task} result={result} /> : null}
      {result === undefined && output !== undefined ? <OutputText output={output} /> : null}
      {call.name === 'ask_clarification' && result !== undefined ? <LongText text={result.text} /> : null}
    </section>
  );
});

function stateOf(result: Result | undefined, isUnderWay: boolean): CallState {
  if (result === undefined) return isUnderWay ? 'running' : 'stopped';
  return result.isError ? 'failed' : 'done';
}

export const ResultText = ({ result }: { readonly result: Result }) => (
  <>
    <h3 className={styles['label']}>{talk.result}</h3>
    <div className={styles['bounded']} tabIndex={0} role="region" aria-label={talk.result}>
      <LongText text={result.text === '' ? talk.emptyResult : result.text} partChars={PART_CHARS} isCode />
    </div>
  </>
);

/** The end of what a command has written so far. */
const OutputText = ({ output }: { readonly output: Output }) => (
  <div className={styles['output']} role="log" aria-label={talk.output}>
    {output.omittedChars === 0 ? null : (
      <p className={styles['note']}>{talk.omitted(formatCount(output.omittedChars))}</p>
    )}
    <LongText text={output.text} partChars={PART_CHARS} isTail isCode />
  </div>
);
