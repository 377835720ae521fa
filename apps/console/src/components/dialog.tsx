import { Dialog as Base } from '@base-ui/react/dialog';
import { type ReactNode, useRef } from 'react';
import { shared } from '../text/shared.js';
import { Button } from './button.js';
import styles from './dialog.module.css';
import { Failure } from './notice.js';
import { useConfirmed } from './use-confirmed.js';

interface DialogProps {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** As wide as the window allows, up to 1,100 px. */
  readonly isWide?: boolean;
  readonly children: ReactNode;
}

/**
 * A dialog over the page: keeps the focus inside, closes with Escape, and gives the focus back. Of several, such as one that asks to sign
 * in over one that is being filled in, Escape closes the uppermost only, wherever the focus is.
 */
export function Dialog({ title, isOpen, onClose, isWide = false, children }: DialogProps) {
  const popup = useRef<HTMLDivElement>(null);
  const onOpenChange = (open: boolean, details: Base.Root.ChangeEventDetails): void => {
    if (open) return;
    if (!details.event.defaultPrevented && isUppermost(popup.current)) return onClose();
    details.cancel();
    // The uppermost one listens at the document.
    details.allowPropagation();
  };
  return (
    <Base.Root open={isOpen} onOpenChange={onOpenChange}>
      <Base.Portal>
        <Base.Backdrop className={styles['backdrop']} />
        <Base.Popup ref={popup} className={`${styles['popup']} ${isWide ? styles['wide'] : ''}`}>
          <Base.Title render={<h2 />}>{title}</Base.Title>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

/** Each dialog that opens becomes the last of the document, whatever component it belongs to. */
const isUppermost = (popup: HTMLElement | null): boolean =>
  [...document.querySelectorAll('[role=dialog][data-open]')].at(-1) === popup;

interface ConfirmProps {
  readonly title: string;
  /** What will happen, and whether it can be undone. */
  readonly children: ReactNode;
  readonly action: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** The dialog closes when it is done and shows why it failed otherwise. */
  readonly onConfirm: () => Promise<unknown>;
}

/** Asks before something that cannot be undone. */
export function Confirm({ title, children, action, isOpen, onClose, onConfirm }: ConfirmProps) {
  const { isBusy, error, confirm } = useConfirmed({ onConfirm, onClose });
  return (
    <Dialog title={title} isOpen={isOpen} onClose={onClose}>
      <div>{children}</div>
      {error === undefined ? null : <Failure error={error} />}
      <div className={styles['actions']}>
        <Button onClick={onClose}>{shared.cancel}</Button>
        <Button look="danger" disabled={isBusy} onClick={() => void confirm()}>
          {action}
        </Button>
      </div>
    </Dialog>
  );
}
