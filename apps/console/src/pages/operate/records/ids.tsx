import { Link } from 'react-router';
import { work } from '../../../text/records/work.js';
import styles from './records.module.css';
import { showDirections } from './show-directions.js';

/** An id, which may be long. */
export const Id = ({ children }: { readonly children: string }) => (
  <span className={styles['id']}>{showDirections(children)}</span>
);

/** A text of users or other systems, in its own direction. */
export const Text = ({ children }: { readonly children: string }) => (
  <bdi className={styles['text']} dir="auto">
    {showDirections(children)}
  </bdi>
);

interface RunLinkProps {
  readonly userId: string;
  readonly threadId: string;
  readonly runId: string;
}

/** The run of any user, as its steps. */
export const RunLink = ({ userId, threadId, runId }: RunLinkProps) => (
  <Link
    to={`/runs/${encodeURIComponent(threadId)}/${encodeURIComponent(runId)}?user=${encodeURIComponent(userId)}`}
    className={styles['id']}
    title={work.openRun}
  >
    {runId}
  </Link>
);
