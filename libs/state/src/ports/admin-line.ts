/** What an administrator did, for the audit stream; the store adds the time as `at`. */
export interface AdminLine {
  readonly id: string;
  /** The administrator, as nothing of it belongs to another user. */
  readonly user_id: string;
  readonly operation: string;
  /** What it was done to. */
  readonly what: string;
  readonly verdict: string;
  readonly decided_by: string;
  /** Address of the client. */
  readonly decided_from?: string;
}
