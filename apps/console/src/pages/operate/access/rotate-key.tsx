import { useState } from 'react';
import { Button } from '../../../components/button.js';
import { Dialog } from '../../../components/dialog.js';
import { Failure } from '../../../components/notice.js';
import { keyTexts as texts } from '../../../text/access.js';
import { shared } from '../../../text/shared.js';
import { Field } from '../../settings/parts/field.js';
import { useAction } from '../../../components/use-action.js';
import styles from './access.module.css';
import { type ApiKey, type IssuedKey, KEYS, rotateKey } from './api.js';
import { Choice } from './create-key.js';
import { titleOf } from './key-form.js';

interface RotateKeyProps {
  readonly apiKey: ApiKey;
  readonly onClose: () => void;
  readonly onIssued: (key: IssuedKey) => void;
}

const overlaps = Object.entries(texts.overlaps);

/** Asks before a key gets another secret, and how long the old one is accepted. */
export function RotateKey({ apiKey, onClose, onIssued }: RotateKeyProps) {
  const [overlap, setOverlap] = useState('0');
  const rotate = useAction(async () => {
    const params = { key_id: apiKey.key_id };
    onIssued(await rotateKey({ params, body: { overlap_seconds: Number(overlap) } }));
    onClose();
  }, [KEYS]);
  return (
    <Dialog title={texts.rotateTitle(titleOf(apiKey))} isOpen onClose={onClose}>
      <p>{texts.rotateAbout}</p>
      <Field label={texts.overlap}>
        <Choice value={overlap} options={overlaps} onChange={setOverlap} />
      </Field>
      {rotate.error === null ? null : <Failure error={rotate.error} />}
      <div className={`${styles['row']} ${styles['end']}`}>
        <Button onClick={onClose}>{shared.cancel}</Button>
        <Button look="danger" disabled={rotate.isBusy} onClick={() => rotate.start()}>
          {texts.rotateAction}
        </Button>
      </div>
    </Dialog>
  );
}
