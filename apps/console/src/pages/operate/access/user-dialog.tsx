import { Confirm } from '../../../components/dialog.js';
import { userTexts as texts } from '../../../text/access.js';
import { TypedConfirm } from '../../settings/parts/typed-confirm.js';
import { useAction } from '../../../components/use-action.js';
import { endSessions, eraseUser, KEYS, setRole, type User, USERS } from './api.js';

/** What an administrator may do with an account. */
export type UserQuestion = 'role' | 'sessions' | 'erase';

interface UserDialogProps {
  readonly kind: UserQuestion;
  readonly user: User;
  /** Whether it is the account of the person at the page. */
  readonly isOwn: boolean;
  readonly onClose: () => void;
  readonly onEnded: (count: number) => void;
}

/** Asks before an account is changed, and changes it. */
export function UserDialog({ kind, user, isOwn, onClose, onEnded }: UserDialogProps) {
  const params = { user_id: user.user_id };
  const isAdministrator = user.role === 'administrator';
  const changeRole = useAction(
    () => setRole({ params, body: { role: isAdministrator ? 'user' : 'administrator' } }),
    [USERS, ['me']],
  );
  const end = useAction(async () => onEnded((await endSessions({ params })).ended), [USERS, ['me']]);
  const erase = useAction(() => eraseUser({ params }), [USERS, KEYS]);
  switch (kind) {
    case 'erase':
      return (
        <TypedConfirm
          title={texts.eraseTitle(user.email)}
          action={texts.eraseAction}
          phrase={user.email}
          onClose={onClose}
          onConfirm={() => erase.run()}
        >
          {texts.eraseAbout}
        </TypedConfirm>
      );
    case 'sessions':
      return (
        <Confirm
          title={texts.endTitle(user.email)}
          action={texts.endAction}
          isOpen
          onClose={onClose}
          onConfirm={() => end.run()}
        >
          {texts.endAbout}
        </Confirm>
      );
    case 'role':
      return (
        <Confirm
          title={isAdministrator ? texts.demoteTitle(user.email) : texts.promoteTitle(user.email)}
          action={texts.roleAction}
          isOpen
          onClose={onClose}
          onConfirm={() => changeRole.run()}
        >
          {!isAdministrator ? texts.promoteAbout : isOwn ? texts.demoteOwnAbout : texts.demoteAbout}
        </Confirm>
      );
  }
}
