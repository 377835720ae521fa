import { useEffect, useState } from 'react';
import { useNavigate, useParams } from 'react-router';
import { talk } from '../../text/talk.js';
import { newId } from './conversation/new-id.js';
import { ConversationPage } from './conversation/conversation-page.js';
import { ThreadList } from './list/thread-list.js';
import styles from './threads.module.css';

/** The address of the conversation that does not exist yet. */
const NEW = 'new';

/** The list of conversations beside the open one. On narrow screens they are views of their own. */
export function ThreadsPage() {
  const path = useParams()['*'] ?? '';
  const navigate = useNavigate();
  const isNew = path === '' || path === NEW;
  const [fresh, setFresh] = useState(() => ({ id: newId(), isUsed: false }));
  // Its id stays the same when its first message makes it a real one, so that it stays as it is.
  useEffect(() => {
    if (path === fresh.id && !fresh.isUsed) setFresh({ ...fresh, isUsed: true });
    if (isNew && fresh.isUsed) setFresh({ id: newId(), isUsed: false });
  }, [path, isNew, fresh]);
  const threadId = isNew ? fresh.id : path;
  const startNew = (): void => {
    setFresh({ id: newId(), isUsed: false });
    void navigate(`/threads/${NEW}`);
  };
  return (
    <div className={`${styles['page']} ${path === '' ? styles['showsList'] : ''}`}>
      <h1 className={styles['heading']}>{talk.conversations}</h1>
      <div className={styles['side']}>
        <ThreadList
          openId={isNew ? undefined : path}
          onNew={startNew}
          onDeleted={(id) => {
            if (id === path) void navigate('/threads');
          }}
        />
      </div>
      <ConversationPage
        key={threadId}
        threadId={threadId}
        isNew={threadId === fresh.id && !fresh.isUsed}
        onMade={() => void navigate(`/threads/${threadId}`, { replace: true })}
        onOpen={(id) => void navigate(`/threads/${id}`)}
      />
    </div>
  );
}
