import { useState } from 'react';
import { formatCount } from '../../text/format.js';
import { talk } from '../../text/talk.js';
import { Button } from '../button.js';
import styles from './markdown.module.css';
import { visibleText } from './visible-text.js';

/** Characters that are shown at first. */
const PART_CHARS = 10_000;
/** Parts of a text that are laid out each for itself, and only when they can be seen. */
const CHUNK_CHARS = 20_000;

interface LongTextProps {
  readonly text: string;
  readonly partChars?: number;
  /** Shows its end instead of its beginning. */
  readonly isTail?: boolean;
  readonly isCode?: boolean;
}

/** Plain text, of which a long one is shown in part. */
export function LongText({ text, partChars = PART_CHARS, isTail = false, isCode = false }: LongTextProps) {
  const [isAll, setAll] = useState(false);
  const isCut = !isAll && text.length > partChars;
  const shown = isCut ? (isTail ? text.slice(-partChars) : text.slice(0, partChars)) : text;
  return (
    <>
      <div className={`${styles['plain']} ${isCode ? styles['code'] : ''}`}>
        {chunksOf(shown).map((chunk, index) => (
          <div key={index} className={styles['chunk']}>
            {visibleText(chunk)}
          </div>
        ))}
      </div>
      {isCut ? <Button onClick={() => setAll(true)}>{talk.showAll(formatCount(text.length))}</Button> : null}
    </>
  );
}

function chunksOf(text: string): readonly string[] {
  if (text.length <= CHUNK_CHARS) return [text];
  return Array.from({ length: Math.ceil(text.length / CHUNK_CHARS) }, (_, index) =>
    text.slice(index * CHUNK_CHARS, (index + 1) * CHUNK_CHARS),
  );
}
