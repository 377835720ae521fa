interface Line {
  readonly id: string;
  /** The owner of the thread, and the run that carries the decision out. */
  readonly user_id: string;
  readonly thread_id: string;
  readonly run_id: string;
  readonly interrupt_id: string;
  readonly tool_call_id?: string;
  /** What was asked, cut; values that look like secrets are left out. */
  readonly what: string;
  /** User id; absent: the deadline decided. */
  readonly decided_by?: string;
  /** Address of the client that sent the decision. */
  readonly decided_from?: string;
}

/** A decision about a tool call, or about the further cost of a turn. */
interface ApprovalLine extends Line {
  readonly operation: 'approval';
  readonly call_hash?: string;
  /** The rules that asked. */
  readonly rules: readonly string[];
  readonly verdict: string;
}

/** An answer to any other question: of a tool, of a middleware, of the agent, or of a run that was paused. */
interface AnswerLine extends Line {
  readonly operation: 'answer';
  readonly verdict: 'answer';
  /** The answer, cut; left out when it looks like a secret. */
  readonly answer: string;
}

/** What a person or a deadline decided, for the audit stream; the store adds the time as `at`. */
export type DecisionLine = ApprovalLine | AnswerLine;
