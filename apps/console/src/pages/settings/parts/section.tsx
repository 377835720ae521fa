import { type ReactNode, useId } from 'react';
import styles from './parts.module.css';

interface SectionProps {
  readonly title: string;
  readonly about?: ReactNode;
  readonly actions?: ReactNode;
  readonly children?: ReactNode;
}

/** A part of a page with a heading. */
export function Section({ title, about, actions, children }: SectionProps) {
  const id = useId();
  return (
    <section className={styles['section']} aria-labelledby={id}>
      <div className={styles['item']}>
        <h2 id={id}>{title}</h2>
        {actions === undefined ? null : <div className={styles['row']}>{actions}</div>}
      </div>
      {about === undefined ? null : <p className={styles['about']}>{about}</p>}
      {children}
    </section>
  );
}
