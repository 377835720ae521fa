import { GitBranch, RefreshCw, ScanSearch, ThumbsDown, ThumbsUp } from 'lucide-react';
import { Link } from 'react-router';
import { Button } from '../../../components/button.js';
import { CopyButton } from '../../../components/markdown/copy-button.js';
import { formatCount, formatDuration, formatMoney } from '../../../text/format.js';
import { talk } from '../../../text/talk.js';
import { costOf } from '../state/cost.js';
import type { Answer } from '../state/items.js';
import type { MessageActions } from './message-actions.js';
import styles from './message.module.css';

interface AnswerFootProps {
  readonly answer: Answer;
  readonly hasActions: boolean;
  readonly actions: MessageActions;
}

/** Model, tokens, cost and time of an answer, and what can be done with the last one of a turn. */
export function AnswerFoot({ answer, hasActions, actions }: AnswerFootProps) {
  const { model, usage, durationSeconds, text, runId } = answer;
  const facts = [
    model,
    usage === undefined || !actions.showsTokens
      ? undefined
      : talk.tokens(formatCount(usage.input), formatCount(usage.output)),
    costText(answer, actions),
    durationSeconds === undefined ? undefined : talk.took(formatDuration(durationSeconds * 1_000)),
  ].filter((fact) => fact !== undefined);
  return (
    <footer className={styles['foot']}>
      <span className={styles['facts']}>{facts.join(' · ')}</span>
      {text === '' ? null : <CopyButton text={text} />}
      {hasActions ? <AnswerButtons answer={answer} actions={actions} /> : null}
      {runId === undefined || !hasActions ? null : (
        <Link
          className={styles['explain'] ?? ''}
          to={actions.explainPath(runId)}
          title={talk.explain}
          aria-label={talk.explain}
        >
          <ScanSearch size={16} aria-hidden />
        </Link>
      )}
    </footer>
  );
}

/** Undefined without prices, and where token counts are not shown. */
function costText({ model, usage }: Answer, { showsTokens, pricingOf }: MessageActions): string | undefined {
  const pricing = pricingOf(model);
  if (usage === undefined || pricing === undefined || !showsTokens) return undefined;
  const cost = costOf(usage, pricing);
  if (cost === undefined) return undefined;
  const amount = formatMoney(cost, pricing.currency);
  return usage.subagents.input + usage.subagents.output > 0 ? talk.costAlone(amount) : talk.cost(amount);
}

function AnswerButtons({ answer, actions }: Omit<AnswerFootProps, 'hasActions'>) {
  const { id, runId, rating } = answer;
  return (
    <>
      <IconButton label={talk.regenerate} onClick={() => actions.regenerate(id)}>
        <RefreshCw size={16} aria-hidden />
      </IconButton>
      <IconButton label={talk.branch} onClick={() => actions.branch(id)}>
        <GitBranch size={16} aria-hidden />
      </IconButton>
      {runId === undefined ? null : (
        <>
          <IconButton
            label={talk.good}
            isPressed={rating === 1}
            onClick={() => actions.rate(runId, rating === 1 ? 0 : 1)}
          >
            <ThumbsUp size={16} aria-hidden />
          </IconButton>
          <IconButton
            label={talk.bad}
            isPressed={rating === -1}
            onClick={() => actions.rate(runId, rating === -1 ? 0 : -1)}
          >
            <ThumbsDown size={16} aria-hidden />
          </IconButton>
        </>
      )}
    </>
  );
}

interface IconButtonProps {
  readonly label: string;
  readonly isPressed?: boolean;
  readonly onClick: () => void;
  readonly children: React.ReactNode;
}

const IconButton = ({ label, isPressed, onClick, children }: IconButtonProps) => (
  <Button
    look={isPressed === true ? 'plain' : 'quiet'}
    isIcon
    aria-label={label}
    title={label}
    aria-pressed={isPressed}
    onClick={onClick}
  >
    {children}
  </Button>
);
