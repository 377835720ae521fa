import { useMe } from '../../api/me.js';
import { session } from '../../api/session.js';
import { useStore } from '../../api/use-store.js';
import { Dialog } from '../../components/dialog.js';
import { signIn } from '../../text/sign-in.js';
import { SignIn } from './sign-in.js';

/** Asks over the page when the session has ended meanwhile. The page stays, and its requests wait. */
export function SignInDialog() {
  const isOpen = useStore(session.state) === 'ended';
  const { data: me } = useMe();
  return (
    <Dialog title={signIn.again} isOpen={isOpen} onClose={() => session.leave()}>
      <p>{signIn.againAbout}</p>
      {me === undefined ? null : <p>{signIn.lastUser(me.email)}</p>}
      {isOpen ? <SignIn email={me?.email} /> : null}
    </Dialog>
  );
}
