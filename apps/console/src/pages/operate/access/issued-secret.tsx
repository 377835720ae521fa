import { useEffect, useRef, useState } from 'react';
import { Button } from '../../../components/button.js';
import { keyTexts as texts } from '../../../text/access.js';
import styles from './access.module.css';
import type { IssuedKey } from './api.js';
import { titleOf } from './key-form.js';

interface IssuedSecretProps {
  readonly issued: IssuedKey;
  readonly onDone: () => void;
}

/** The secret of a new or rotated key, until the person says that it is stored: it cannot be read again. */
export function IssuedSecret({ issued, onDone }: IssuedSecretProps) {
  const field = useRef<HTMLInputElement>(null);
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle');
  useEffect(() => field.current?.focus(), [issued.key]);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(issued.key);
      setState('copied');
    } catch {
      // Browsers give the clipboard to secure pages only, and may ask the person.
      field.current?.select();
      setState('failed');
    }
  };
  return (
    <section className={styles['issued']} aria-label={texts.issuedTitle(titleOf(issued))}>
      <h2>{texts.issuedTitle(titleOf(issued))}</h2>
      <p>{texts.issuedAbout}</p>
      <div className={styles['row']}>
        <input
          ref={field}
          className={styles['secret']}
          aria-label={texts.issuedField}
          readOnly
          value={issued.key}
          onFocus={(event) => event.currentTarget.select()}
        />
        <Button look="primary" onClick={() => void copy()}>
          {texts.copy}
        </Button>
        <Button onClick={onDone}>{texts.done}</Button>
      </div>
      <span role="status">{state === 'idle' ? '' : state === 'copied' ? texts.copied : texts.copyFailed}</span>
    </section>
  );
}
