import { useState } from 'react';
import { Badge } from '../../../../components/badge.js';
import { Button } from '../../../../components/button.js';
import { Dialog } from '../../../../components/dialog.js';
import { Failure, Loading } from '../../../../components/notice.js';
import { formatTime } from '../../../../text/format.js';
import { history as texts } from '../../../../text/panels-history.js';
import { HiddenText } from '../interrupts/hidden-text.js';
import styles from '../panels.module.css';
import { nextOf, type Step } from './checkpoints.js';
import { FileChanges } from './file-changes.js';
import { JsonTree } from './tree-view.js';
import { lastAnswerIn, stateChanges } from './state-changes.js';
import { StepActions } from './step-actions.js';
import { useStepStates } from './use-step-states.js';

interface DetailsProps {
  readonly step: Step;
  /** The step that files are compared with on request. */
  readonly marked: Step | undefined;
  readonly onMark: () => void;
  readonly onBack: () => void;
}

/** Changes of a step that are listed. */
const MAX_CHANGES = 100;

/** A step: what changed in it, its state and files, and ways to continue from it. */
export function StepDetails({ step, marked, onMark, onBack }: DetailsProps) {
  const [isStateOpen, setStateOpen] = useState(false);
  const { after, before, error, refetch } = useStepStates(step);
  return (
    <div className={styles['stack']}>
      <div className={styles['row']}>
        <Button onClick={onBack}>{texts.back}</Button>
      </div>
      <h2>{step.title}</h2>
      <p className={styles['quiet']}>
        {[step.at === undefined ? '' : formatTime(step.at), nextOf(step)].filter(Boolean).join(' · ')}
        {step.runId === undefined ? null : <> · {texts.run(step.runId)}</>}
      </p>
      {step.error === undefined ? null : <p className={styles['warn']}>{step.error}</p>}
      <StepActions step={step} answerId={after === undefined ? undefined : lastAnswerIn(after)} />
      <h3>{texts.changes}</h3>
      {error === null ? null : <Failure error={error} onRetry={refetch} />}
      {step.parentId === undefined ? <p className={styles['quiet']}>{texts.first}</p> : null}
      {after === undefined || before === undefined ? (
        error === null ? (
          <Loading />
        ) : null
      ) : (
        <>
          <Changes before={before} after={after} />
          <div className={styles['row']}>
            <Button onClick={() => setStateOpen(true)}>{texts.state}</Button>
          </div>
          <Dialog title={texts.stateTitle(step.title)} isOpen={isStateOpen} isWide onClose={() => setStateOpen(false)}>
            <JsonTree value={after} />
          </Dialog>
        </>
      )}
      <ComparedFiles step={step} marked={marked} onMark={onMark} />
    </div>
  );
}

type Values = Readonly<Record<string, unknown>>;

function Changes({ before, after }: { readonly before: Values; readonly after: Values }) {
  const changes = stateChanges(before, after);
  if (changes.length === 0) return <p className={styles['quiet']}>{texts.noChanges}</p>;
  return (
    <ul className={styles['list']} aria-label={texts.changes}>
      {changes.slice(0, MAX_CHANGES).map(({ title, text }, index) => (
        <li key={index} className={styles['item']}>
          <strong>{title}</strong>
          {text === '' ? null : <HiddenText text={text} />}
        </li>
      ))}
      {changes.length <= MAX_CHANGES ? null : (
        <li className={styles['quiet']}>{texts.more(changes.length - MAX_CHANGES)}</li>
      )}
    </ul>
  );
}

const comparisons = ['step', 'now', 'marked'] as const;
type Comparison = (typeof comparisons)[number];

/** Files that differ between two points, of which the step is one. */
function ComparedFiles({ step, marked, onMark }: Omit<DetailsProps, 'onBack'>) {
  const [chosen, setChosen] = useState<Comparison>(step.parentId === undefined ? 'now' : 'step');
  const possible = comparisons.filter(
    (name) =>
      (name !== 'step' || step.parentId !== undefined) &&
      (name !== 'marked' || (marked !== undefined && marked.id !== step.id)),
  );
  const ends = {
    step: { from: step.parentId, to: step.id },
    now: { from: step.id, to: undefined },
    marked: { from: marked?.id, to: step.id },
  }[chosen];
  return (
    <section className={styles['stack']} aria-label={texts.filesTitle}>
      <h3>{texts.filesTitle}</h3>
      <label className={styles['field']}>
        {texts.compare}
        <select
          className={styles['input']}
          value={chosen}
          onChange={(event) => setChosen(comparisons.find((name) => name === event.target.value) ?? 'now')}
        >
          {possible.map((name) => (
            <option key={name} value={name}>
              {texts.compareWith[name]}
            </option>
          ))}
        </select>
      </label>
      <div className={styles['row']}>
        {marked?.id === step.id ? (
          <Badge tone="accent">{texts.marked}</Badge>
        ) : (
          <Button look="quiet" onClick={onMark}>
            {texts.mark}
          </Button>
        )}
      </div>
      {ends.from === undefined ? null : (
        <FileChanges key={`${ends.from} ${ends.to ?? ''}`} from={ends.from} to={ends.to} />
      )}
    </section>
  );
}
