import type { ReactNode } from 'react';
import styles from './parts.module.css';

interface SectionProps {
  readonly title: string;
  readonly about?: ReactNode;
  readonly actions?: ReactNode;
  readonly children?: ReactNode;
}

/** A part of a page with a heading. It is no landmark: tables and navigation are. */
export const Section = ({ title, about, actions, children }: SectionProps) => (
  <section className={styles['section']}>
    <div className={styles['head']}>
      <h2>{title}</h2>
      {actions === undefined ? null : <div className={styles['row']}>{actions}</div>}
    </div>
    {about === undefined ? null : <p className={styles['about']}>{about}</p>}
    {children}
  </section>
);
