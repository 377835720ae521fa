import type { ReactNode } from 'react';
import { ApiError } from '../api/request.js';
import { shared } from '../text/shared.js';
import { Button } from './button.js';
import styles from './notice.module.css';

interface NoticeProps {
  readonly tone?: 'neutral' | 'warn' | 'bad';
  readonly children: ReactNode;
}

/** A message in the flow of the page; bad ones are read out at once. */
export const Notice = ({ tone = 'neutral', children }: NoticeProps) => (
  <div className={`${styles['notice']} ${styles[tone] ?? ''}`} role={tone === 'bad' ? 'alert' : 'status'}>
    {children}
  </div>
);

interface FailureProps {
  readonly error: unknown;
  readonly onRetry?: (() => void) | undefined;
}

/** Why something could not be read or done, in words, and a way to try again. */
export const Failure = ({ error, onRetry }: FailureProps) => (
  <Notice tone="bad">
    <div className={styles['row']}>
      <span>{failureText(error)}</span>
      {onRetry === undefined ? null : <Button onClick={onRetry}>{shared.tryAgain}</Button>}
    </div>
  </Notice>
);

/** What a person reads about a failure. */
export function failureText(error: unknown): string {
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error);
  if (error.status === 0) return shared.noAnswer;
  if (error.status === 403) return shared.forbidden(error.message);
  return error.message;
}

export const Loading = ({ what = shared.loading }: { readonly what?: string }) => (
  <p role="status" aria-live="polite">
    {what}
  </p>
);
