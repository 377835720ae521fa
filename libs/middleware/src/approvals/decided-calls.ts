import {
  type AnsweredInterrupt,
  ApprovalAnswer,
  type ApprovalDecision,
  ApprovalRequest,
  callHashOf,
  type ThreadState,
  type ToolCall,
} from '@caribou/contracts';
import { toolScope } from '@caribou/core';

/** A decision about a tool call that was not used up yet. */
export interface DecidedCall {
  readonly interrupt: AnsweredInterrupt;
  /** A decision that cannot be read is a rejection. */
  readonly decision: ApprovalDecision;
  /** Hash of the call that may be executed; undefined when none may. */
  readonly approvedHash: string | undefined;
}

/** Keys of the interrupts of `approval-request`; a tool's own, such as those of its subagents, are not about its call. */
const ASKED_HERE = 'approval-request#';

const UNREADABLE: ApprovalDecision = { type: 'reject', message: 'The decision could not be read.' };

/** The decisions about a call, oldest first: an edited call may have been asked for again. */
export function decisionsAbout({ interrupts }: ThreadState, call: ToolCall, threadId: string): readonly DecidedCall[] {
  const scope = toolScope(call.id);
  const answered = (interrupts?.answered ?? []).filter(
    ({ scope: of, key, kind }) => of === scope && kind === 'approval' && key.startsWith(ASKED_HERE),
  );
  return answered.map((interrupt) => {
    const decision = ApprovalAnswer.safeParse(interrupt.answer).data ?? UNREADABLE;
    return { interrupt, decision, approvedHash: approvedHash(interrupt, decision, { call, threadId }) };
  });
}

interface Subject {
  readonly call: ToolCall;
  readonly threadId: string;
}

function approvedHash(
  { value }: AnsweredInterrupt,
  { type, edited }: ApprovalDecision,
  { call, threadId }: Subject,
): string | undefined {
  if (type === 'approve') return ApprovalRequest.safeParse(value).data?.call_hash;
  return type === 'edit' && edited !== undefined ? callHashOf(threadId, { ...edited, id: call.id }) : undefined;
}
