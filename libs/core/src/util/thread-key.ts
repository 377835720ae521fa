/** A thread and its owner: every lookup needs both, so that another user's thread is never found. */
export interface ThreadKey {
  readonly userId: string;
  readonly threadId: string;
}
