import { Badge, type Tone } from '../../../../components/badge.js';
import { Button } from '../../../../components/button.js';
import { formatBytes } from '../../../../text/format.js';
import { files as texts } from '../../../../text/panels-files.js';
import styles from '../panels.module.css';
import type { UploadItem, UploadQueue, UploadState } from './upload-queue.js';

const tones: Readonly<Record<UploadState, Tone>> = {
  waiting: 'neutral',
  sending: 'accent',
  done: 'good',
  failed: 'bad',
  refused: 'bad',
  cancelled: 'warn',
};

interface ProgressProps {
  readonly items: readonly UploadItem<File>[];
  readonly queue: UploadQueue<File>;
}

/** What becomes of each file that was chosen. */
export function UploadProgress({ items, queue }: ProgressProps) {
  if (items.length === 0) return null;
  return (
    <>
      <ul className={styles['list']} aria-label={texts.queue}>
        {items.map((item) => (
          <ProgressItem key={item.id} item={item} queue={queue} />
        ))}
      </ul>
      <div className={styles['row']}>
        <Button look="quiet" onClick={() => queue.clear()}>
          {texts.clear}
        </Button>
      </div>
    </>
  );
}

function ProgressItem({ item, queue }: { readonly item: UploadItem<File> } & Pick<ProgressProps, 'queue'>) {
  const { id, file, state, sent, error } = item;
  return (
    <li className={styles['item']}>
      <span className={styles['spread']}>
        <span>
          {file.name} <span className={styles['quiet']}>{formatBytes(file.size)}</span>
        </span>
        <Badge tone={tones[state]}>{texts.states[state]}</Badge>
      </span>
      {state === 'sending' ? (
        <progress className={styles['meter']} aria-label={texts.progress(file.name)} value={sent} max={file.size} />
      ) : null}
      {error === undefined ? null : (
        <span role="alert" className={styles['warn']}>
          {error}
        </span>
      )}
      <span className={styles['row']}>
        {state === 'failed' || state === 'cancelled' ? (
          <Button onClick={() => queue.retry(id)}>{texts.retry}</Button>
        ) : null}
        {state === 'waiting' || state === 'sending' ? (
          <Button look="quiet" onClick={() => queue.cancel(id)}>
            {texts.cancel}
          </Button>
        ) : null}
      </span>
    </li>
  );
}
