import { Suspense } from 'react';
import { NavLink, Outlet } from 'react-router';
import { useMe } from '../api/me.js';
import { Loading } from '../components/notice.js';
import { shared } from '../text/shared.js';
import styles from './shell.module.css';

/** The frame of every page: main navigation, and the page. */
export function Shell() {
  const me = useMe();
  const isAdministrator = me.data?.system_role === 'admin';
  const links = [
    { to: '/threads', label: shared.threads },
    ...(isAdministrator ? [{ to: '/operate', label: shared.operate }] : []),
    { to: '/settings', label: shared.settings },
  ];
  return (
    <div className={styles['shell']}>
      <a className={styles['skip']} href="#content" onClick={focusContent}>
        {shared.skipToContent}
      </a>
      <nav className={styles['bar']} aria-label={shared.navigation}>
        <span className={styles['brand']}>Caribou</span>
        {links.map(({ to, label }) => (
          <NavLink key={to} to={to} className={styles['link'] ?? ''}>
            {label}
          </NavLink>
        ))}
      </nav>
      <main id="content" tabIndex={-1} className={styles['main']}>
        <Suspense fallback={<Loading />}>
          <Outlet />
        </Suspense>
      </main>
    </div>
  );
}

/** The address is the router's, so the link moves the focus itself. */
function focusContent(event: { preventDefault: () => void }): void {
  event.preventDefault();
  document.querySelector<HTMLElement>('#content')?.focus();
}
