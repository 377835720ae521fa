import { type FormEvent, useId } from 'react';
import { useSearchParams } from 'react-router';
import { Button } from '../../../components/button.js';
import { work } from '../../../text/records/work.js';
import styles from './records.module.css';

/** One field of a filter; its value is in the address, so that a filtered page can be shared. */
export interface FilterField {
  readonly name: string;
  readonly label: string;
  /** Choices, the first of which is the default; absent: free text. */
  readonly options?: readonly (readonly [value: string, label: string])[];
  readonly type?: 'text' | 'datetime-local';
  /** What the field accepts, as a regular expression and as people read it. */
  readonly pattern?: string;
  readonly hint?: string;
}

/** The pattern of user and thread ids. */
export const ID_PATTERN = '[A-Za-z0-9][A-Za-z0-9_\\-]{0,63}';

/** The values of a filter by their names; those that are not set are left out. */
export function useFilter(): Readonly<Record<string, string | undefined>> {
  const [search] = useSearchParams();
  return Object.fromEntries([...search].filter(([, value]) => value !== ''));
}

/** A form whose values become the address. */
export function Filters({ fields }: { readonly fields: readonly FilterField[] }) {
  const [search, setSearch] = useSearchParams();
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const values = new FormData(event.currentTarget);
    const next = new URLSearchParams();
    for (const { name } of fields) {
      const value = values.get(name);
      if (typeof value === 'string' && value.trim() !== '') next.set(name, value.trim());
    }
    setSearch(next);
  };
  return (
    <form className={styles['filters']} onSubmit={submit} key={search.toString()}>
      {fields.map((field) => (
        <Field key={field.name} field={field} value={search.get(field.name) ?? ''} />
      ))}
      <Button type="submit">{work.apply}</Button>
    </form>
  );
}

function Field({ field, value }: { readonly field: FilterField; readonly value: string }) {
  const id = useId();
  const { name, label, options, type = 'text', pattern, hint } = field;
  return (
    <div className={styles['field']}>
      <label htmlFor={id}>{label}</label>
      {options === undefined ? (
        <input id={id} name={name} type={type} defaultValue={value} pattern={pattern} title={hint} maxLength={100} />
      ) : (
        <select id={id} name={name} defaultValue={value}>
          {options.map(([option, text]) => (
            <option key={option} value={option}>
              {text}
            </option>
          ))}
        </select>
      )}
    </div>
  );
}

export const userField: FilterField = {
  name: 'user',
  label: work.user,
  pattern: ID_PATTERN,
  hint: work.noUser,
};
