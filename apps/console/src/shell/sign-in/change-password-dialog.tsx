import { useState } from 'react';
import { Button } from '../../components/button.js';
import { Dialog } from '../../components/dialog.js';
import { Notice } from '../../components/notice.js';
import { TextField } from '../../components/text-field.js';
import { shared } from '../../text/shared.js';
import { signIn } from '../../text/sign-in.js';
import { NewPassword } from './credential-form.js';
import { refusalText } from './refusal-text.js';
import { changePassword } from './sign-in-api.js';
import styles from './sign-in.module.css';
import { textIn, useForm } from './use-form.js';

interface ChangePasswordDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export const ChangePasswordDialog = ({ isOpen, onClose }: ChangePasswordDialogProps) => (
  <Dialog title={signIn.changePassword} isOpen={isOpen} onClose={onClose}>
    {isOpen ? <ChangePassword onClose={onClose} /> : null}
  </Dialog>
);

function ChangePassword({ onClose }: Pick<ChangePasswordDialogProps, 'onClose'>) {
  const [isDone, setDone] = useState(false);
  const { isBusy, failure, onSubmit } = useForm({
    submit: async (fields) => {
      const password = textIn(fields, 'password');
      if (password !== textIn(fields, 'repeated')) throw new Error(signIn.passwordsDiffer);
      await changePassword({ body: { current_password: textIn(fields, 'current'), new_password: password } });
      setDone(true);
    },
    textOf: (error) => refusalText(error, signIn.wrongCurrent),
  });
  if (isDone)
    return (
      <>
        <Notice>{signIn.passwordChanged}</Notice>
        <Button onClick={onClose}>{shared.close}</Button>
      </>
    );
  return (
    <form className={styles['form']} onSubmit={onSubmit}>
      <p>{signIn.changePasswordAbout}</p>
      <TextField
        label={signIn.currentPassword}
        name="current"
        type="password"
        autoComplete="current-password"
        required
      />
      <NewPassword label={signIn.newPassword} />
      {failure === undefined ? null : <Notice tone="bad">{failure}</Notice>}
      <div className={styles['actions']}>
        <Button onClick={onClose}>{shared.cancel}</Button>
        <Button type="submit" look="primary" disabled={isBusy}>
          {signIn.changePassword}
        </Button>
      </div>
    </form>
  );
}
