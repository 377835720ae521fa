import { useState } from 'react';
import { Button } from '../../components/button.js';
import { explain } from '../../text/explain.js';
import { formatCount } from '../../text/format.js';
import styles from './runs.module.css';

const STEP_CHARS = 20_000;

/** A text as it is, of which the beginning is shown until more is asked for: the page stays quick with megabytes. */
export function BoundedText({ text }: { readonly text: string }) {
  const [chars, setChars] = useState(STEP_CHARS);
  const visible = text.length <= chars ? text : text.slice(0, chars);
  return (
    <>
      <pre className={styles['json']} dir="auto" tabIndex={0}>
        {visible}
      </pre>
      {visible.length === text.length ? null : (
        <div className={styles['more']}>
          <span>{explain.stateCut(formatCount(visible.length), formatCount(text.length))}</span>
          <Button onClick={() => setChars((before) => before * 4)}>{explain.showMore}</Button>
        </div>
      )}
    </>
  );
}
