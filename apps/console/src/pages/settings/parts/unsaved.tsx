import { useEffect } from 'react';
import { useBlocker } from 'react-router';
import { Button } from '../../../components/button.js';
import { Dialog } from '../../../components/dialog.js';
import { settings } from '../../../text/settings.js';
import styles from './parts.module.css';

/** While there are unsaved edits, leaving the page asks first: within the console by a dialog, else by the browser. */
export const Unsaved = ({ isDirty }: { readonly isDirty: boolean }) => (isDirty ? <Asking /> : null);

function Asking() {
  const blocker = useBlocker(({ currentLocation, nextLocation }) => currentLocation.pathname !== nextLocation.pathname);
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    window.addEventListener('beforeunload', ask);
    return () => window.removeEventListener('beforeunload', ask);
  }, []);
  if (blocker.state !== 'blocked') return null;
  return (
    <Dialog title={settings.unsaved} isOpen onClose={() => blocker.reset()}>
      <p>{settings.unsavedAbout}</p>
      <div className={styles['row']}>
        <Button look="primary" onClick={() => blocker.reset()}>
          {settings.stay}
        </Button>
        <Button look="danger" onClick={() => blocker.proceed()}>
          {settings.leave}
        </Button>
      </div>
    </Dialog>
  );
}
