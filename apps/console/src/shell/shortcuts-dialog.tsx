import { useStore } from '../api/use-store.js';
import { Dialog } from '../components/dialog.js';
import { frame } from '../text/frame.js';
import styles from './dialogs.module.css';
import { shortcuts } from './shortcuts.js';
import { turnShortcuts } from './use-shortcuts.js';

interface ShortcutsDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** The list of shortcuts, and the way to turn them off. */
export function ShortcutsDialog({ isOpen, onClose }: ShortcutsDialogProps) {
  const list = useStore(shortcuts.list);
  const areOn = useStore(shortcuts.areOn);
  return (
    <Dialog title={frame.shortcuts} isOpen={isOpen} onClose={onClose}>
      <dl className={styles['facts']}>
        {list.map(({ keys, about }) => (
          <div key={`${keys.join(' ')} ${about}`}>
            <dt>
              {keys.map((key) => (
                <kbd key={key} className={styles['key']}>
                  {key}
                </kbd>
              ))}
            </dt>
            <dd>{about}</dd>
          </div>
        ))}
      </dl>
      <label className={styles['choice']}>
        <input type="checkbox" checked={areOn} onChange={({ target }) => turnShortcuts(target.checked)} />
        {frame.shortcutsOn}
      </label>
    </Dialog>
  );
}
