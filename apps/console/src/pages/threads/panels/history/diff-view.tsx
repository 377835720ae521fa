import { useMemo, useState } from 'react';
import { Button } from '../../../../components/button.js';
import { panels } from '../../../../text/panels.js';
import { history as texts } from '../../../../text/panels-history.js';
import { revealAsText } from '../interrupts/hidden-characters.js';
import { type DiffRow, diffRows } from './diff-rows.js';
import styles from './history.module.css';

const ROWS_OF_PAGE = 500;

const signs: Readonly<Record<DiffRow['kind'], string>> = { added: '+', removed: '−', same: ' ', hunk: '', note: '' };

/** Changed lines of a text, with their numbers before and after. */
export function DiffView({ path, diff }: { readonly path: string; readonly diff: string }) {
  const [count, setCount] = useState(ROWS_OF_PAGE);
  const rows = useMemo(() => diffRows(diff), [diff]);
  return (
    <div className={styles['diff']} role="region" aria-label={texts.diffLabel(path)} tabIndex={0}>
      <table>
        <tbody>
          {rows.slice(0, count).map(({ kind, before, after, text }, index) => (
            <tr key={index} className={styles[kind]}>
              <td className={styles['line']}>{before}</td>
              <td className={styles['line']}>{after}</td>
              <td className={styles['sign']}>{signs[kind]}</td>
              <td className={styles['code']}>{revealAsText(text)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length <= count ? null : <Button onClick={() => setCount(count + ROWS_OF_PAGE)}>{panels.more}</Button>}
    </div>
  );
}
