import { Dialog } from '../../components/dialog.js';
import { Failure } from '../../components/notice.js';
import { signIn } from '../../text/sign-in.js';

interface SignOutFailedProps {
  readonly error: unknown;
  readonly onClose: () => void;
  readonly onRetry: () => void;
}

/** Somebody who believes to be signed out, and is not, has to know. */
export const SignOutFailed = ({ error, onClose, onRetry }: SignOutFailedProps) => (
  <Dialog title={signIn.notSignedOut} isOpen={error !== undefined} onClose={onClose}>
    <Failure
      error={error}
      onRetry={() => {
        onClose();
        onRetry();
      }}
    />
  </Dialog>
);
