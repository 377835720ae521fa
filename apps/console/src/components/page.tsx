import { type ReactNode, useEffect } from 'react';
import styles from './page.module.css';

interface PageProps {
  readonly title: string;
  /** A sentence below the title. */
  readonly about?: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A page with a title, which is the document's too. */
export function Page({ title, about, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Caribou`;
  }, [title]);
  return (
    <div className={styles['page']}>
      <header>
        <div className={styles['head']}>
          <h1>{title}</h1>
          {actions === undefined ? null : <div className={styles['actions']}>{actions}</div>}
        </div>
        {about === undefined ? null : <p className={styles['about']}>{about}</p>}
      </header>
      {children}
    </div>
  );
}
