import { useEffect } from 'react';
import { frame } from '../../text/frame.js';
import { signIn } from '../../text/sign-in.js';
import { SignIn } from './sign-in.js';
import styles from './sign-in.module.css';

/** The page before anybody is signed in. */
export function SignInScreen() {
  useEffect(() => {
    document.title = `${signIn.title} · ${frame.brand}`;
  }, []);
  return (
    <main className={styles['screen']}>
      <div className={styles['card']}>
        <h1>
          {frame.brand}: {signIn.title}
        </h1>
        <SignIn />
      </div>
    </main>
  );
}
