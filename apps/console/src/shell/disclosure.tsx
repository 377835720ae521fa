import { type FocusEvent, type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { Button } from '../components/button.js';
import styles from './user-menu.module.css';

interface DisclosureProps {
  /** What the button is called. */
  readonly label: string;
  /** What is seen on it. */
  readonly content: ReactNode;
  /** What it shows; gets a function that hides it and gives the focus back to the button. */
  readonly children: (hide: () => void) => ReactNode;
}

/** A button that shows something below it, until Escape, or until the focus or a click is elsewhere. */
export function Disclosure({ label, content, children }: DisclosureProps) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  useEffect(() => {
    if (!isOpen) return;
    const onPress = (event: PointerEvent): void => {
      if (event.target instanceof Node && root.current?.contains(event.target) !== true) setOpen(false);
    };
    document.addEventListener('pointerdown', onPress);
    return () => document.removeEventListener('pointerdown', onPress);
  }, [isOpen]);
  const hide = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Escape' && isOpen) hide();
  };
  const onBlur = (event: FocusEvent): void => {
    if (event.relatedTarget instanceof Node && root.current?.contains(event.relatedTarget) !== true) setOpen(false);
  };
  return (
    <div ref={root} className={styles['root']} onKeyDown={onKeyDown} onBlur={onBlur}>
      <Button
        ref={button}
        look="quiet"
        className={styles['trigger']}
        aria-label={label}
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
      >
        {content}
      </Button>
      <div id={id} className={styles['popup']} hidden={!isOpen}>
        {isOpen ? children(hide) : null}
      </div>
    </div>
  );
}
