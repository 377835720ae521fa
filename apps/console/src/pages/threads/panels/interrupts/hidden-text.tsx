import { useState } from 'react';
import { Button } from '../../../../components/button.js';
import { formatCount } from '../../../../text/format.js';
import { panels } from '../../../../text/panels.js';
import { revealHidden } from './hidden-characters.js';
import styles from './interrupts.module.css';

/** Characters that are shown at first; the rest on request. */
const SHOWN_CHARS = 8_000;

/** A text of a model or a person as it is, with characters that cannot be seen shown by their codes. */
export function HiddenText({ text }: { readonly text: string }) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? text : text.slice(0, SHOWN_CHARS);
  return (
    <>
      <bdi className={styles['literal']} dir="ltr">
        {revealHidden(shown).map(({ text: part, code }, index) =>
          code === undefined ? (
            <span key={index}>{part}</span>
          ) : (
            <mark key={index} className={styles['hidden']}>
              {code}
            </mark>
          ),
        )}
      </bdi>
      {shown.length === text.length ? null : (
        <Button look="quiet" onClick={() => setWhole(true)}>
          {panels.showAll(formatCount(text.length))}
        </Button>
      )}
    </>
  );
}
