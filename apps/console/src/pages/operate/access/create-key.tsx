import { type SyntheticEvent, useState } from 'react';
import { Button } from '../../../components/button.js';
import { Dialog } from '../../../components/dialog.js';
import { Failure, Notice } from '../../../components/notice.js';
import { access, keyTexts as texts } from '../../../text/access.js';
import { shared } from '../../../text/shared.js';
import { Field } from '../../settings/parts/field.js';
import { useAction } from '../../../components/use-action.js';
import styles from './access.module.css';
import { createKey, type IssuedKey, KEYS } from './api.js';
import { emptyDraft, faultsOf, type Expiry, type KeyDraft, type KeyFault, toKeyRequest } from './key-form.js';

interface CreateKeyProps {
  readonly onClose: () => void;
  readonly onIssued: (key: IssuedKey) => void;
}

/** The form for a new key. */
export function CreateKey({ onClose, onIssued }: CreateKeyProps) {
  const [draft, setDraft] = useState<KeyDraft>(emptyDraft);
  const [faults, setFaults] = useState<readonly KeyFault[]>([]);
  const change = (part: Partial<KeyDraft>): void => setDraft((known) => ({ ...known, ...part }));
  const create = useAction(async () => {
    onIssued(await createKey({ body: toKeyRequest(draft, Date.now()) }));
    onClose();
  }, [KEYS]);
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    const found = faultsOf(draft, Date.now());
    setFaults(found);
    if (found.length === 0 && !create.isBusy) create.start();
  };
  return (
    <Dialog title={texts.createTitle} isOpen onClose={onClose}>
      <form className={styles['form']} onSubmit={submit} noValidate>
        <KeyFields draft={draft} faults={faults} onChange={change} />
        {draft.role === 'administrator' ? <Notice tone="warn">{texts.administratorWarning}</Notice> : null}
        {create.error === null ? null : <Failure error={create.error} />}
        <div className={`${styles['row']} ${styles['end']}`}>
          <Button onClick={onClose}>{shared.cancel}</Button>
          <Button look="primary" type="submit" disabled={create.isBusy}>
            {texts.createAction}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface KeyFieldsProps {
  readonly draft: KeyDraft;
  readonly faults: readonly KeyFault[];
  readonly onChange: (part: Partial<KeyDraft>) => void;
}

const MAX_NAME_CHARS = 100;
const expiries = Object.entries(texts.expiries) as [Expiry, string][];
const roles = Object.entries(access.roles) as [KeyDraft['role'], string][];

function KeyFields({ draft, faults, onChange }: KeyFieldsProps) {
  const faultOf = (field: KeyFault): string | undefined => (faults.includes(field) ? texts.faults[field] : undefined);
  return (
    <>
      <Field label={texts.name} hint={texts.nameHint} fault={faultOf('name')}>
        <input
          autoComplete="off"
          maxLength={MAX_NAME_CHARS}
          value={draft.name}
          onChange={(event) => onChange({ name: event.currentTarget.value })}
        />
      </Field>
      <Field label={texts.user} hint={texts.userHint} fault={faultOf('user')}>
        <input
          autoComplete="off"
          spellCheck={false}
          value={draft.user}
          onChange={(event) => onChange({ user: event.currentTarget.value })}
        />
      </Field>
      <Field label={access.role}>
        <Choice value={draft.role} options={roles} onChange={(role) => onChange({ role })} />
      </Field>
      <Field label={texts.expiry}>
        <Choice value={draft.expiry} options={expiries} onChange={(expiry) => onChange({ expiry })} />
      </Field>
      {draft.expiry === 'date' ? (
        <Field label={texts.date} fault={faultOf('date')}>
          <input type="date" value={draft.date} onChange={(event) => onChange({ date: event.currentTarget.value })} />
        </Field>
      ) : null}
    </>
  );
}

interface ChoiceProps<Value extends string> {
  readonly id?: string;
  readonly 'aria-describedby'?: string | undefined;
  readonly 'aria-invalid'?: boolean | undefined;
  readonly value: Value;
  readonly options: readonly (readonly [value: Value, label: string])[];
  readonly onChange: (value: Value) => void;
}

/** One of several values. */
export function Choice<Value extends string>({ value, options, onChange, ...props }: ChoiceProps<Value>) {
  const choose = (chosen: string): void => {
    const option = options.find(([known]) => known === chosen);
    if (option !== undefined) onChange(option[0]);
  };
  return (
    <select {...props} value={value} onChange={(event) => choose(event.currentTarget.value)}>
      {options.map(([known, label]) => (
        <option key={known} value={known}>
          {label}
        </option>
      ))}
    </select>
  );
}
