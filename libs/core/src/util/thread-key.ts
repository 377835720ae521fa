/** A thread with its owner: every lookup needs both; another user's thread does not exist. */
export interface ThreadKey {
  readonly userId: string;
  readonly threadId: string;
}
