import { Badge } from '../../../components/badge.js';
import { Button } from '../../../components/button.js';
import { DataTable } from '../../../components/data-table.js';
import { access, userTexts as texts } from '../../../text/access.js';
import { formatCount, formatTime } from '../../../text/format.js';
import styles from './access.module.css';
import type { User } from './api.js';
import type { UserQuestion } from './user-dialog.js';

interface UserTableProps {
  readonly users: readonly User[];
  readonly ownId: string | undefined;
  readonly onAsk: (kind: UserQuestion, user: User) => void;
}

/** The accounts of a page of the list. */
export const UserTable = ({ users, ownId, onAsk }: UserTableProps) => (
  <DataTable
    caption={texts.title}
    empty={texts.empty}
    rows={users}
    keyOf={({ user_id }) => user_id}
    columns={[
      {
        head: texts.email,
        cell: ({ email, user_id }) => (
          <>
            {email} {user_id === ownId ? <Badge>{texts.you}</Badge> : null}
          </>
        ),
      },
      { head: texts.id, cell: ({ user_id }) => <code>{user_id}</code> },
      {
        head: access.role,
        cell: ({ role }) => <Badge tone={role === 'administrator' ? 'accent' : 'neutral'}>{access.roles[role]}</Badge>,
      },
      {
        head: texts.created,
        cell: ({ created_at }) => (created_at === null ? access.unknown : formatTime(created_at)),
      },
      {
        head: texts.lastSignIn,
        cell: ({ last_sign_in_at }) => (last_sign_in_at === null ? access.unknown : formatTime(last_sign_in_at)),
      },
      { head: texts.sessions, cell: ({ sessions }) => formatCount(sessions), isNumber: true },
      { head: access.actions, cell: (user) => <Actions user={user} isOwn={user.user_id === ownId} onAsk={onAsk} /> },
    ]}
  />
);

interface ActionsProps extends Pick<UserTableProps, 'onAsk'> {
  readonly user: User;
  readonly isOwn: boolean;
}

function Actions({ user, isOwn, onAsk }: ActionsProps) {
  const role = user.role === 'administrator' ? texts.demote : texts.promote;
  return (
    <div className={styles['row']}>
      <Button aria-label={`${role} ${user.email}`} onClick={() => onAsk('role', user)}>
        {role}
      </Button>
      <Button
        aria-label={`${texts.endSessions} ${user.email}`}
        disabled={user.sessions === 0}
        onClick={() => onAsk('sessions', user)}
      >
        {texts.endSessions}
      </Button>
      {isOwn ? null : (
        <Button look="danger" aria-label={`${texts.erase} ${user.email}`} onClick={() => onAsk('erase', user)}>
          {texts.erase}
        </Button>
      )}
    </div>
  );
}
