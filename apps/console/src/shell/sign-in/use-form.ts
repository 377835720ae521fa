import { type FormEvent, useState } from 'react';

interface FormOptions {
  /** Sends what was entered. */
  readonly submit: (fields: FormData) => Promise<void>;
  /** What the person reads when that fails. */
  readonly textOf: (error: unknown) => string;
}

/** A form that is sent once at a time; after a failure everything that was entered is still there. */
export function useForm({ submit, textOf }: FormOptions) {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string>();
  const onSubmit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    if (isBusy) return;
    const fields = new FormData(event.currentTarget);
    setBusy(true);
    setFailure(undefined);
    try {
      await submit(fields);
    } catch (error) {
      setFailure(textOf(error));
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, failure, onSubmit: (event: FormEvent<HTMLFormElement>) => void onSubmit(event) };
}

/** A text field of a form; '' when it has none of this name. */
export function textIn(fields: FormData, name: string): string {
  const value = fields.get(name);
  return typeof value === 'string' ? value : '';
}
