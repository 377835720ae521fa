import type { ReactNode } from 'react';
import styles from './badge.module.css';

export type Tone = 'neutral' | 'good' | 'warn' | 'bad' | 'accent';

/** A short state. Its text says what the color says. */
export const Badge = ({ tone = 'neutral', children }: { readonly tone?: Tone; readonly children: ReactNode }) => (
  <span className={`${styles['badge']} ${styles[tone] ?? ''}`}>{children}</span>
);
