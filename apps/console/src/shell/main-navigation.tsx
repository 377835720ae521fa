import { Menu as MenuIcon } from 'lucide-react';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { NavLink, useLocation } from 'react-router';
import { addressOf } from '../api/request.js';
import { Button } from '../components/button.js';
import { frame } from '../text/frame.js';
import { shared } from '../text/shared.js';
import styles from './main-navigation.module.css';

export interface Section {
  readonly to: string;
  readonly label: string;
}

interface MainNavigationProps {
  readonly sections: readonly Section[];
}

/** Links to the sections; behind a button on narrow screens. */
export function MainNavigation({ sections }: MainNavigationProps) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const { pathname } = useLocation();
  useEffect(() => setOpen(false), [pathname]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || !isOpen) return;
    setOpen(false);
    button.current?.focus();
  };
  return (
    <nav className={styles['bar']} aria-label={shared.navigation} onKeyDown={onKeyDown}>
      <Button
        ref={button}
        look="quiet"
        isIcon
        className={styles['toggle']}
        aria-label={frame.menu}
        aria-expanded={isOpen}
        aria-controls="sections"
        onClick={() => setOpen(!isOpen)}
      >
        <MenuIcon aria-hidden size={20} />
      </Button>
      <span className={styles['brand']}>
        <img src={addressOf('icon.svg')} alt="" width={24} height={24} />
        {frame.brand}
      </span>
      <ul id="sections" className={styles['sections']} data-open={isOpen}>
        {sections.map(({ to, label }) => (
          <li key={to}>
            <NavLink to={to} className={styles['link'] ?? ''}>
              {label}
            </NavLink>
          </li>
        ))}
      </ul>
    </nav>
  );
}
