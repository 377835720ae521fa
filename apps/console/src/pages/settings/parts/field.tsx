import { cloneElement, type ReactElement, type ReactNode, useId } from 'react';
import styles from './parts.module.css';

interface ControlProps {
  readonly id?: string;
  readonly 'aria-describedby'?: string | undefined;
  readonly 'aria-invalid'?: boolean | undefined;
}

interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  /** What is wrong with the value. */
  readonly fault?: string | undefined;
  /** The text is code or JSON. */
  readonly isCode?: boolean;
  /** An input, a select or a text area. */
  readonly children: ReactElement<ControlProps>;
}

/** A control with its label, and what a person has to know about its value. */
export function Field({ label, hint, fault, isCode = false, children }: FieldProps) {
  const id = useId();
  const [hintId, faultId] = [`${id}hint`, `${id}fault`];
  const described = [hint === undefined ? '' : hintId, fault === undefined ? '' : faultId].join(' ').trim();
  return (
    <div className={isCode ? `${styles['field']} ${styles['code']}` : styles['field']}>
      <label className={styles['label']} htmlFor={id}>
        {label}
      </label>
      {cloneElement(children, {
        id,
        'aria-describedby': described === '' ? undefined : described,
        'aria-invalid': fault === undefined ? undefined : true,
      })}
      {hint === undefined ? null : (
        <span id={hintId} className={styles['hint']}>
          {hint}
        </span>
      )}
      {fault === undefined ? null : (
        <span id={faultId} className={styles['fault']} role="alert">
          {fault}
        </span>
      )}
    </div>
  );
}

interface CheckProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly isDisabled?: boolean;
  readonly onChange: (isOn: boolean) => void;
}

/** A switch: takes effect, or is part of a form, as the page says. */
export function Check({ label, isOn, isDisabled = false, onChange }: CheckProps) {
  return (
    <label className={styles['check']}>
      <input
        type="checkbox"
        checked={isOn}
        disabled={isDisabled}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      {label}
    </label>
  );
}
