import { useState } from 'react';
import { deleteThread, updateState } from '../../../api/threads.js';
import { Button } from '../../../components/button.js';
import { Confirm, Dialog } from '../../../components/dialog.js';
import { Failure } from '../../../components/notice.js';
import { shared } from '../../../text/shared.js';
import { talk } from '../../../text/talk.js';
import styles from './list.module.css';
import type { ListedThread } from './thread-titles.js';

interface ThreadDialogProps {
  readonly thread: ListedThread;
  readonly onClose: () => void;
  readonly onDone: (title: string) => void;
}

export function RenameThread({ thread, onClose, onDone }: ThreadDialogProps) {
  const [title, setTitle] = useState(thread.title);
  const [error, setError] = useState<unknown>(undefined);
  const rename = async (): Promise<void> => {
    try {
      await updateState({ params: { thread_id: thread.thread_id }, body: { values: { title: title.trim() } } });
      onDone(title.trim());
      onClose();
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <Dialog title={talk.renameOf(thread.title)} isOpen onClose={onClose}>
      <form
        className={styles['form']}
        onSubmit={(event) => {
          event.preventDefault();
          void rename();
        }}
      >
        <label className={styles['field']}>
          {talk.titleField}
          <input value={title} maxLength={256} onChange={(event) => setTitle(event.target.value)} />
        </label>
        {error === undefined ? null : <Failure error={error} />}
        <div className={styles['actions']}>
          <Button onClick={onClose}>{shared.cancel}</Button>
          <Button look="primary" type="submit" disabled={title.trim() === ''}>
            {talk.save}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

export function DeleteThread({ thread, onClose, onDone }: ThreadDialogProps) {
  return (
    <Confirm
      title={talk.deleteOf(thread.title)}
      action={talk.delete}
      isOpen
      onClose={onClose}
      onConfirm={async () => {
        await deleteThread({ params: { thread_id: thread.thread_id } });
        onDone(thread.title);
      }}
    >
      {talk.deleteAbout}
    </Confirm>
  );
}
