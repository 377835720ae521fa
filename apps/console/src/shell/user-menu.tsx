import { CircleUser } from 'lucide-react';
import { useState } from 'react';
import { hasSession, readApiKey } from '../api/credentials.js';
import { useMe } from '../api/me.js';
import { useStore } from '../api/use-store.js';
import { frame } from '../text/frame.js';
import { shared } from '../text/shared.js';
import { AboutDialog } from './about-dialog.js';
import { Disclosure } from './disclosure.js';
import { ChangePasswordDialog } from './sign-in/change-password-dialog.js';
import { signOut } from './sign-in/sign-out.js';
import { SignOutFailed } from './sign-in/sign-out-failed.js';
import { chooseTheme, theme, themes } from './theme.js';
import styles from './user-menu.module.css';

const themeLabels = { system: shared.themeSystem, light: shared.themeLight, dark: shared.themeDark } as const;

/** How the requests of this page are authenticated. */
const wayOf = (): 'key' | 'session' | 'nobody' => {
  if (readApiKey() !== null) return 'key';
  return hasSession() ? 'session' : 'nobody';
};

const wayLabels = { key: frame.byKey, session: frame.bySession, nobody: frame.byNobody } as const;

interface UserMenuProps {
  readonly onShortcuts: () => void;
}

/** Who is at the page, the theme, help, and the way out. */
export function UserMenu({ onShortcuts }: UserMenuProps) {
  const { data: me } = useMe();
  const [dialog, setDialog] = useState<'about' | 'password'>();
  const [failure, setFailure] = useState<unknown>();
  const way = wayOf();
  const name = nameOf(me);
  const role = me?.system_role === 'admin' ? `${frame.administrator}, ` : '';
  const leave = (): void => {
    signOut(way).catch((error: unknown) => setFailure(error));
  };
  const close = (): void => setDialog(undefined);
  const items: [string, () => void][] = [
    [frame.shortcuts, onShortcuts],
    [frame.about, () => setDialog('about')],
    ...(way === 'session' ? [[frame.changePassword, () => setDialog('password')] as [string, () => void]] : []),
    ...(way === 'nobody' ? [] : [[way === 'key' ? frame.forgetKey : shared.signOut, leave] as [string, () => void]]),
  ];
  return (
    <>
      <Disclosure
        label={`${frame.account}: ${name}`}
        content={
          <>
            <CircleUser aria-hidden size={20} />
            <span className={styles['name']}>{name}</span>
          </>
        }
      >
        {(hide) => (
          <>
            <p className={styles['who']}>
              <strong>{name}</strong>
              <span>{`${role}${wayLabels[way]}`}</span>
            </p>
            <ThemeChoice />
            <ul className={styles['items']}>
              {items.map(([label, act]) => (
                <li key={label}>
                  <button
                    type="button"
                    className={styles['item']}
                    onClick={() => {
                      hide();
                      act();
                    }}
                  >
                    {label}
                  </button>
                </li>
              ))}
            </ul>
          </>
        )}
      </Disclosure>
      <AboutDialog isOpen={dialog === 'about'} onClose={close} />
      <ChangePasswordDialog isOpen={dialog === 'password'} onClose={close} />
      <SignOutFailed error={failure} onClose={() => setFailure(undefined)} onRetry={leave} />
    </>
  );
}

/** A user without an account has an e-mail that cannot exist; the id is shown then. */
const nameOf = (me: { readonly id: string; readonly email: string } | undefined): string => {
  if (me === undefined) return shared.loading;
  return me.email.endsWith('.invalid') ? me.id : me.email;
};

function ThemeChoice() {
  const chosen = useStore(theme);
  return (
    <fieldset className={styles['themes']}>
      <legend>{shared.theme}</legend>
      {themes.map((each) => (
        <label key={each} className={styles['choice']}>
          <input type="radio" name="theme" checked={each === chosen} onChange={() => chooseTheme(each)} />
          {themeLabels[each]}
        </label>
      ))}
    </fieldset>
  );
}
