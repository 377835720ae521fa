import { useId } from 'react';
import { Button } from '../../../../components/button.js';
import { panels } from '../../../../text/panels.js';
import type { DecisionProps } from './decision-props.js';
import type { Draft } from './decisions.js';
import { Faults } from './faults.js';
import { escapeHidden } from './hidden-characters.js';
import styles from './interrupts.module.css';
import type { AskedCall } from './waiting.js';

const { interrupts: texts } = panels;

export type FormKind = 'edit' | 'reject' | 'respond';

type FormDraft = Extract<Draft, { type: FormKind }>;

interface FormProps extends Pick<DecisionProps, 'faults' | 'isBusy' | 'isAlone' | 'onDraft' | 'onSend'> {
  readonly call: AskedCall;
  readonly draft: FormDraft;
}

const labels = { edit: texts.editLabel, reject: texts.reason, respond: texts.respondLabel };
const actions = { edit: texts.editSend, reject: texts.rejectSend, respond: texts.respondSend };

const textOf = (draft: FormDraft): string => (draft.type === 'edit' ? draft.text : draft.message);
const withText = (draft: FormDraft, text: string): FormDraft =>
  draft.type === 'edit' ? { ...draft, text } : { ...draft, message: text };

/** What belongs to a decision: other arguments, a reason, or the answer in place of the tool. */
export function DecisionForm({ call, draft, faults, isBusy, isAlone, onDraft, onSend }: FormProps) {
  const id = useId();
  const original = escapeHidden(JSON.stringify(call.args, null, 2));
  const text = textOf(draft);
  return (
    <form
      className={styles['form']}
      onSubmit={(event) => {
        event.preventDefault();
        if (isAlone) onSend(draft);
      }}
    >
      <label htmlFor={id}>{labels[draft.type]}</label>
      <textarea
        id={id}
        className={draft.type === 'edit' ? styles['code'] : styles['text']}
        rows={draft.type === 'edit' ? Math.min(20, Math.max(4, text.split('\n').length)) : 3}
        spellCheck={draft.type !== 'edit'}
        value={text}
        aria-invalid={faults.length > 0}
        aria-describedby={faults.length > 0 ? `${id}-faults` : undefined}
        onChange={(event) => onDraft(withText(draft, event.target.value))}
      />
      <Faults faults={faults} id={`${id}-faults`} />
      <div className={styles['actions']}>
        {draft.type === 'edit' && text !== original ? (
          <Button look="quiet" onClick={() => onDraft({ type: 'edit', text: original })}>
            {texts.reset}
          </Button>
        ) : null}
        {isAlone ? (
          <Button type="submit" look={draft.type === 'reject' ? 'danger' : 'primary'} disabled={isBusy}>
            {actions[draft.type]}
          </Button>
        ) : null}
      </div>
    </form>
  );
}
