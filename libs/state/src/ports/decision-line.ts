/** A decision about an interrupt, for the audit stream; the store adds the time as `at`. */
export interface DecisionLine {
  readonly id: string;
  readonly operation: 'approval';
  /** The owner of the thread, and the run that carries the decision out. */
  readonly user_id: string;
  readonly thread_id: string;
  readonly run_id: string;
  readonly interrupt_id: string;
  readonly tool_call_id?: string;
  readonly call_hash?: string;
  /** The tool and its arguments, cut; values that look like secrets are left out. */
  readonly what: string;
  /** The rules that asked. */
  readonly rules: readonly string[];
  readonly verdict: string;
  /** User id; absent: the deadline decided. */
  readonly decided_by?: string;
  /** Address of the client that sent the decision. */
  readonly decided_from?: string;
}
