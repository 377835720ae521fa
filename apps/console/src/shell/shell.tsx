import { Suspense, useMemo, useState } from 'react';
import { Outlet, useNavigate } from 'react-router';
import { useMe } from '../api/me.js';
import { session } from '../api/session.js';
import { useStore } from '../api/use-store.js';
import { Loading } from '../components/notice.js';
import { frame } from '../text/frame.js';
import { shared } from '../text/shared.js';
import { FrameNotices } from './frame-notices.js';
import { MainNavigation } from './main-navigation.js';
import { RouteAnnouncer } from './route-announcer.js';
import styles from './shell.module.css';
import { ShortcutsDialog } from './shortcuts-dialog.js';
import { SignInDialog } from './sign-in/sign-in-dialog.js';
import { SignInScreen } from './sign-in/sign-in-screen.js';
import { useShortcutKeys, useShortcuts } from './use-shortcuts.js';
import { UserMenu } from './user-menu.js';

const sections = [
  { to: '/threads', label: shared.threads, key: 't', forAdministrators: false },
  { to: '/operate', label: shared.operate, key: 'o', forAdministrators: true },
  { to: '/settings', label: shared.settings, key: 's', forAdministrators: false },
] as const;

/** The frame of every page; who is not signed in sees nothing but the way to do so. */
export function Shell() {
  const { data: me } = useMe();
  const sessionState = useStore(session.state);
  if (me === undefined && sessionState !== 'open') return <SignInScreen />;
  return <Frame isAdministrator={me?.system_role === 'admin'} />;
}

function Frame({ isAdministrator }: { readonly isAdministrator: boolean }) {
  const [listsShortcuts, setListsShortcuts] = useState(false);
  const navigate = useNavigate();
  const shown = useMemo(() => sections.filter((each) => isAdministrator || !each.forAdministrators), [isAdministrator]);
  useShortcutKeys();
  useShortcuts(
    useMemo(
      () => [
        { keys: ['?'], about: frame.shortcutHelp, run: () => setListsShortcuts(true) },
        ...shown.map(({ to, label, key }) => ({
          keys: ['g', key],
          about: frame.goTo(label),
          run: () => void navigate(to),
        })),
      ],
      [shown, navigate],
    ),
  );
  return (
    <div className={styles['shell']}>
      <a className={styles['skip']} href="#content" onClick={focusContent}>
        {shared.skipToContent}
      </a>
      <header className={styles['bar']}>
        <MainNavigation sections={shown} />
        <UserMenu onShortcuts={() => setListsShortcuts(true)} />
      </header>
      <FrameNotices />
      <main id="content" tabIndex={-1} className={styles['main']}>
        <Suspense fallback={<Loading />}>
          <Outlet />
        </Suspense>
      </main>
      <RouteAnnouncer />
      <SignInDialog />
      <ShortcutsDialog isOpen={listsShortcuts} onClose={() => setListsShortcuts(false)} />
    </div>
  );
}

/** The address is the router's, so the link moves the focus itself. */
function focusContent(event: { preventDefault: () => void }): void {
  event.preventDefault();
  document.querySelector<HTMLElement>('#content')?.focus();
}
