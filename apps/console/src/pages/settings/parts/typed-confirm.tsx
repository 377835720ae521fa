import { type ReactNode, useState } from 'react';
import { Button } from '../../../components/button.js';
import { Dialog } from '../../../components/dialog.js';
import { Failure } from '../../../components/notice.js';
import { useConfirmed } from '../../../components/use-confirmed.js';
import { shared } from '../../../text/shared.js';
import { settings } from '../../../text/settings.js';
import { Field } from './field.js';
import styles from './parts.module.css';
import { isPhrase } from './typed-phrase.js';

interface TypedConfirmProps {
  readonly title: string;
  readonly children: ReactNode;
  readonly action: string;
  /** What has to be typed first. */
  readonly phrase: string;
  readonly onClose: () => void;
  readonly onConfirm: () => Promise<unknown>;
}

/** Asks before something that erases much: the action is possible once the phrase was typed. */
export function TypedConfirm({ title, children, action, phrase, onClose, onConfirm }: TypedConfirmProps) {
  const [typed, setTyped] = useState('');
  const { isBusy, error, confirm } = useConfirmed({ onConfirm, onClose });
  return (
    <Dialog title={title} isOpen onClose={onClose}>
      <form
        className={styles['form']}
        onSubmit={(event) => {
          event.preventDefault();
          if (isPhrase(typed, phrase) && !isBusy) void confirm();
        }}
      >
        <div>{children}</div>
        <Field label={settings.typeToConfirm(phrase)}>
          <input autoComplete="off" value={typed} onChange={(event) => setTyped(event.currentTarget.value)} />
        </Field>
        {error === undefined ? null : <Failure error={error} />}
        <div className={styles['row']}>
          <Button onClick={onClose}>{shared.cancel}</Button>
          <Button look="danger" type="submit" disabled={!isPhrase(typed, phrase) || isBusy}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
