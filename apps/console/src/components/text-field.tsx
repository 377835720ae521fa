import { type InputHTMLAttributes, useId } from 'react';
import styles from './text-field.module.css';

interface TextFieldProps extends InputHTMLAttributes<HTMLInputElement> {
  readonly label: string;
  /** A sentence below the field, for example a rule. */
  readonly hint?: string | undefined;
  /** What is wrong with the value. */
  readonly fault?: string | undefined;
}

/** One line of text with its label. */
export function TextField({ label, hint, fault, ...props }: TextFieldProps) {
  const id = useId();
  const about = [hint === undefined ? undefined : `${id}-hint`, fault === undefined ? undefined : `${id}-fault`];
  return (
    <div className={styles['field']}>
      <label htmlFor={id}>{label}</label>
      <input
        {...props}
        id={id}
        className={styles['input']}
        aria-invalid={fault !== undefined}
        aria-describedby={about.filter(Boolean).join(' ') || undefined}
      />
      {hint === undefined ? null : (
        <span id={`${id}-hint`} className={styles['hint']}>
          {hint}
        </span>
      )}
      {fault === undefined ? null : (
        <span id={`${id}-fault`} className={styles['fault']} role="alert">
          {fault}
        </span>
      )}
    </div>
  );
}
