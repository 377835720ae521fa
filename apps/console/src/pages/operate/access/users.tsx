import { useState } from 'react';
import { useMe } from '../../../api/me.js';
import { Notice } from '../../../components/notice.js';
import { Page } from '../../../components/page.js';
import { userTexts as texts } from '../../../text/access.js';
import { Loaded } from '../../settings/parts/loaded.js';
import { PAGE_SIZE, type User, useUsers } from './api.js';
import { Pager } from './pager.js';
import { UserDialog, type UserQuestion } from './user-dialog.js';
import { UserTable } from './user-table.js';

/** The accounts of people who sign in. */
export function Component() {
  const [offset, setOffset] = useState(0);
  const [question, setQuestion] = useState<{ readonly kind: UserQuestion; readonly user: User }>();
  const [outcome, setOutcome] = useState('');
  const me = useMe();
  const users = useUsers(offset);
  const ownId = me.data?.id;
  return (
    <Page title={texts.title} about={texts.about}>
      {outcome === '' ? null : <Notice>{outcome}</Notice>}
      <Loaded query={users}>
        {(page) => (
          <>
            <UserTable users={page.users} ownId={ownId} onAsk={(kind, user) => setQuestion({ kind, user })} />
            <Pager offset={offset} size={PAGE_SIZE} total={page.total} onTurn={setOffset} />
          </>
        )}
      </Loaded>
      {question === undefined ? null : (
        <UserDialog
          {...question}
          isOwn={question.user.user_id === ownId}
          onClose={() => setQuestion(undefined)}
          onEnded={(count) => setOutcome(texts.ended(question.user.email, count))}
        />
      )}
    </Page>
  );
}
