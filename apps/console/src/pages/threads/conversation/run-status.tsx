import { visibleText } from '../../../components/markdown/visible-text.js';
import { Notice } from '../../../components/notice.js';
import { talk } from '../../../text/talk.js';
import styles from './conversation.module.css';
import type { StoreView } from './store.js';

/** What happens at the moment, below the messages; read out when it changes, unlike the text that streams. */
export function RunStatus({ view }: { readonly view: StoreView }) {
  const { failure } = view.conversation;
  return (
    <div className={styles['status']}>
      <p role="status" aria-live="polite" data-connected={view.isConnected}>
        {statusText(view)}
      </p>
      {failure === undefined ? null : (
        <Notice tone="bad">{talk.runFailed(visibleText(failure.name), visibleText(failure.message))}</Notice>
      )}
    </div>
  );
}

function statusText({ conversation: { run }, isConnected, revision }: StoreView): string {
  if (!isConnected) return talk.reconnecting;
  if (run === undefined) return revision > 0 ? talk.answered : '';
  const doing = run.notice === undefined ? talk.working : visibleText(run.notice);
  return run.attempt > 1 ? `${doing} ${talk.takenOver(run.attempt)}` : doing;
}
