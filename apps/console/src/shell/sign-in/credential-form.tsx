import type { ReactNode } from 'react';
import { Button } from '../../components/button.js';
import { Notice } from '../../components/notice.js';
import { TextField } from '../../components/text-field.js';
import { signIn } from '../../text/sign-in.js';
import { refusalText } from './refusal-text.js';
import styles from './sign-in.module.css';
import { textIn, useForm } from './use-form.js';

interface CredentialFormProps {
  readonly submit: (fields: FormData) => Promise<void>;
  /** What a refusal of the credentials means. */
  readonly wrong: string;
  readonly action: string;
  readonly children: ReactNode;
}

function CredentialForm({ submit, wrong, action, children }: CredentialFormProps) {
  const { isBusy, failure, onSubmit } = useForm({ submit, textOf: (error) => refusalText(error, wrong) });
  return (
    <form className={styles['form']} onSubmit={onSubmit}>
      {children}
      {failure === undefined ? null : <Notice tone="bad">{failure}</Notice>}
      <Button type="submit" look="primary" disabled={isBusy}>
        {action}
      </Button>
    </form>
  );
}

export interface Account {
  readonly email: string;
  readonly password: string;
  readonly remembered: boolean;
}

const accountIn = (fields: FormData): Account => ({
  email: textIn(fields, 'username'),
  password: textIn(fields, 'password'),
  remembered: fields.has('remember'),
});

const Remember = () => (
  <label className={styles['choice']}>
    <input type="checkbox" name="remember" defaultChecked />
    {signIn.remember}
  </label>
);

interface AccountFormProps {
  readonly email?: string | undefined;
  readonly submit: (account: Account) => Promise<void>;
}

/** E-mail and password of an account that exists. */
export const PasswordForm = ({ email, submit }: AccountFormProps) => (
  <CredentialForm submit={(fields) => submit(accountIn(fields))} wrong={signIn.wrongPassword} action={signIn.submit}>
    <TextField
      label={signIn.email}
      name="username"
      type="email"
      autoComplete="username"
      defaultValue={email}
      required
    />
    <TextField label={signIn.password} name="password" type="password" autoComplete="current-password" required />
    <Remember />
  </CredentialForm>
);

/** E-mail and password of a new account. */
export const NewAccountForm = ({ submit, action }: AccountFormProps & { readonly action: string }) => (
  <CredentialForm
    submit={async (fields) => {
      if (textIn(fields, 'password') !== textIn(fields, 'repeated')) throw new Error(signIn.passwordsDiffer);
      await submit(accountIn(fields));
    }}
    wrong={signIn.wrongPassword}
    action={action}
  >
    <TextField label={signIn.email} name="username" type="email" autoComplete="username" required />
    <NewPassword label={signIn.password} />
    <Remember />
  </CredentialForm>
);

/** A new password, twice. */
export const NewPassword = ({ label }: { readonly label: string }) => (
  <>
    <TextField
      label={label}
      name="password"
      type="password"
      autoComplete="new-password"
      minLength={8}
      maxLength={256}
      hint={signIn.passwordRule}
      required
    />
    <TextField
      label={signIn.repeatPassword}
      name="repeated"
      type="password"
      autoComplete="new-password"
      maxLength={256}
      required
    />
  </>
);

/** An API key. */
export const KeyForm = ({ submit }: { readonly submit: (key: string) => Promise<void> }) => (
  <CredentialForm
    submit={(fields) => submit(textIn(fields, 'key').trim())}
    wrong={signIn.wrongKey}
    action={signIn.submit}
  >
    <p>{signIn.keyAbout}</p>
    <TextField label={signIn.key} name="key" type="password" autoComplete="off" maxLength={512} required />
  </CredentialForm>
);
