import { useEffect, useRef, useState } from 'react';
import { useLocation } from 'react-router';
import styles from './shell.module.css';

/** Time for a page to set its title, which may have to be loaded first, in milliseconds. */
const TITLE_MS = 1_000;

/**
 * Reads out the title of a page that the person has gone to. The focus moves to the page unless it is there already, as in a link of the
 * page itself or in a field that is being filled in while the address changes.
 */
export function RouteAnnouncer() {
  const { pathname } = useLocation();
  const [title, setTitle] = useState('');
  const shown = useRef(pathname);
  useEffect(() => {
    if (shown.current === pathname) return;
    shown.current = pathname;
    moveFocus();
    const element = document.querySelector('title');
    const announce = (): void => {
      observer.disconnect();
      clearTimeout(timer);
      setTitle(document.title);
    };
    const observer = new MutationObserver(announce);
    const timer = setTimeout(announce, TITLE_MS);
    if (element !== null) observer.observe(element, { childList: true, characterData: true, subtree: true });
    return () => {
      observer.disconnect();
      clearTimeout(timer);
    };
  }, [pathname]);
  return (
    <p className={styles['unseen']} aria-live="polite">
      {title}
    </p>
  );
}

function moveFocus(): void {
  const content = document.querySelector<HTMLElement>('#content');
  if (content?.contains(document.activeElement) !== true) content?.focus();
}
