import { Badge } from '../../../../components/badge.js';
import { Button } from '../../../../components/button.js';
import { panels } from '../../../../text/panels.js';
import { CallArguments } from './call-arguments.js';
import type { DecisionProps } from './decision-props.js';
import type { Draft } from './decisions.js';
import { DecisionForm, type FormKind } from './decision-form.js';
import { Faults } from './faults.js';
import { escapeHidden } from './hidden-characters.js';
import { HiddenText } from './hidden-text.js';
import styles from './interrupts.module.css';
import type { AskedCall } from './waiting.js';

const { interrupts: texts } = panels;

/** A call that is executed only when a person approves it. */
export function ApprovalCard({ call, ...props }: DecisionProps & { readonly call: AskedCall }) {
  const { waiting, draft, faults } = props;
  return (
    <>
      <AskedAbout call={call} />
      {waiting.may_decide ? <Choices call={call} {...props} /> : <p>{texts.adminOnly}</p>}
      {draft === undefined || draft.type === 'approve' || draft.type === 'answer' ? (
        <Faults faults={faults} />
      ) : (
        <DecisionForm {...props} call={call} draft={draft} />
      )}
    </>
  );
}

/** What would be executed, exactly, and why a person is asked. */
function AskedAbout({ call }: { readonly call: AskedCall }) {
  const isCall = call.callHash !== undefined;
  return (
    <>
      <h3>{isCall ? <HiddenText text={texts.approval(call.name)} /> : texts.spending}</h3>
      {call.message === '' ? null : (
        <p>
          <HiddenText text={texts.why(call.message)} />
        </p>
      )}
      {isCall ? <CallArguments args={call.args} /> : <HiddenText text={call.description} />}
      {call.isTruncated ? <p className={styles['quiet']}>{texts.truncated}</p> : null}
      {call.rules.length === 0 ? null : <p className={styles['quiet']}>{texts.rules(call.rules.join(', '))}</p>}
    </>
  );
}

const kinds = ['approve', 'edit', 'reject', 'respond'] as const;
const looks = { approve: 'primary', edit: 'plain', reject: 'danger', respond: 'plain' } as const;

/** The decisions that are possible. Of several calls each gets its own before all are sent. */
function Choices({ call, draft, isBusy, isAlone, onDraft, onSend }: DecisionProps & { readonly call: AskedCall }) {
  const possible = kinds.filter((kind) => call.allowed.includes(kind) && !(kind === 'edit' && call.isTruncated));
  const choose = (kind: FormKind | 'approve'): void => {
    const next = draft?.type === kind && !isAlone ? undefined : emptyDraft(kind, call);
    onDraft(next);
    if (next?.type === 'approve' && isAlone) onSend(next);
  };
  return (
    <div className={styles['actions']} role="group" aria-label={texts.decision}>
      {possible.map((kind) => (
        <Button
          key={kind}
          look={looks[kind]}
          disabled={isBusy}
          aria-pressed={draft?.type === kind}
          onClick={() => choose(kind)}
        >
          {texts[kind]}
        </Button>
      ))}
      {isAlone ? null : <Badge tone={draft === undefined ? 'neutral' : 'accent'}>{stateOf(draft)}</Badge>}
    </div>
  );
}

const stateOf = (draft: Draft | undefined): string => (draft === undefined ? texts.none : texts.chosen[draft.type]);

function emptyDraft(kind: FormKind | 'approve', { args }: AskedCall): Draft {
  switch (kind) {
    case 'approve':
      return { type: 'approve' };
    case 'edit':
      return { type: 'edit', text: escapeHidden(JSON.stringify(args, null, 2)) };
    case 'reject':
    case 'respond':
      return { type: kind, message: '' };
  }
}
