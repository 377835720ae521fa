import { Button } from '../../../components/button.js';
import { access } from '../../../text/access.js';
import styles from './access.module.css';

interface PagerProps {
  readonly offset: number;
  readonly size: number;
  readonly total: number;
  readonly onTurn: (offset: number) => void;
}

/** Turns the pages of a list; nothing is shown when one page has it all. */
export function Pager({ offset, size, total, onTurn }: PagerProps) {
  if (total <= size && offset === 0) return null;
  return (
    <nav className={styles['row']} aria-label={access.page}>
      <Button disabled={offset === 0} onClick={() => onTurn(Math.max(0, offset - size))}>
        {access.previous}
      </Button>
      <Button disabled={offset + size >= total} onClick={() => onTurn(offset + size)}>
        {access.next}
      </Button>
      <span role="status">{access.shown(Math.min(offset + 1, total), Math.min(offset + size, total), total)}</span>
    </nav>
  );
}
