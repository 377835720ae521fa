import { Menu } from '@base-ui/react/menu';
import { Check, CircleUser } from 'lucide-react';
import { useState } from 'react';
import { hasSession, readApiKey } from '../api/credentials.js';
import { useMe } from '../api/me.js';
import { useStore } from '../api/use-store.js';
import { Button } from '../components/button.js';
import { frame } from '../text/frame.js';
import { shared } from '../text/shared.js';
import { AboutDialog } from './about-dialog.js';
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
  const leave = (): void => {
    signOut(way).catch((error: unknown) => setFailure(error));
  };
  const close = (): void => setDialog(undefined);
  return (
    <>
      <Menu.Root>
        <Menu.Trigger
          render={<Button look="quiet" className={styles['trigger']} aria-label={`${frame.account}: ${name}`} />}
        >
          <CircleUser aria-hidden size={20} />
          <span className={styles['name']}>{name}</span>
        </Menu.Trigger>
        <Menu.Portal>
          <Menu.Positioner className={styles['positioner']} align="end" sideOffset={6}>
            <Menu.Popup className={styles['popup']}>
              <div className={styles['who']}>
                <strong>{name}</strong>
                <span>
                  {[me?.system_role === 'admin' ? frame.administrator : undefined, wayLabels[way]]
                    .filter(Boolean)
                    .join(', ')}
                </span>
              </div>
              <ThemeItems />
              <Menu.Separator className={styles['line']} />
              <Item label={frame.shortcuts} onClick={onShortcuts} />
              <Item label={frame.about} onClick={() => setDialog('about')} />
              {way === 'session' ? <Item label={frame.changePassword} onClick={() => setDialog('password')} /> : null}
              {way === 'nobody' ? null : (
                <Item label={way === 'key' ? frame.forgetKey : shared.signOut} onClick={leave} />
              )}
            </Menu.Popup>
          </Menu.Positioner>
        </Menu.Portal>
      </Menu.Root>
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

function ThemeItems() {
  const chosen = useStore(theme);
  return (
    <Menu.RadioGroup value={chosen} onValueChange={chooseTheme}>
      <Menu.GroupLabel className={styles['label']}>{shared.theme}</Menu.GroupLabel>
      {themes.map((each) => (
        <Menu.RadioItem key={each} value={each} className={styles['item']}>
          {themeLabels[each]}
          <Menu.RadioItemIndicator>
            <Check aria-hidden size={16} />
          </Menu.RadioItemIndicator>
        </Menu.RadioItem>
      ))}
    </Menu.RadioGroup>
  );
}

interface ItemProps {
  readonly label: string;
  readonly onClick: () => void;
}

const Item = ({ label, onClick }: ItemProps) => (
  <Menu.Item className={styles['item']} onClick={onClick}>
    {label}
  </Menu.Item>
);
