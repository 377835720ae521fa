import { Link } from 'react-router';

interface ThreadLinkProps {
  readonly threadId: string | null;
  readonly label?: string;
  /** What is said without a thread. */
  readonly otherwise?: string;
}

/** A link to a conversation. */
export const ThreadLink = ({ threadId, label, otherwise = '' }: ThreadLinkProps) =>
  threadId === null ? otherwise : <Link to={`/threads/${encodeURIComponent(threadId)}`}>{label ?? threadId}</Link>;
