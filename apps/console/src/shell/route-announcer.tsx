import { useEffect, useRef, useState } from 'react';
import { NavigationType, useLocation, useNavigationType } from 'react-router';
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
  useFocusOnPage(pathname);
  useEffect(() => {
    if (shown.current === pathname) return;
    shown.current = pathname;
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

/** Moves the focus to the page when the person has gone to another one. */
function useFocusOnPage(pathname: string): void {
  const way = useNavigationType();
  const shown = useRef(pathname);
  useEffect(() => {
    const before = shown.current;
    if (before === pathname) return;
    shown.current = pathname;
    if (way !== NavigationType.Replace || !leadsInto(before, pathname)) moveFocus();
  }, [pathname, way]);
}

/**
 * Whether a page has only led to the first of its parts, as `/settings` does. That is a part of going there, and may be late, as the page
 * is loaded first: the person may be in a menu or a dialog by then, which must not lose the focus.
 */
const leadsInto = (from: string, to: string): boolean => to.startsWith(from.endsWith('/') ? from : `${from}/`);

function moveFocus(): void {
  const content = document.querySelector<HTMLElement>('#content');
  if (content?.contains(document.activeElement) !== true) content?.focus();
}
