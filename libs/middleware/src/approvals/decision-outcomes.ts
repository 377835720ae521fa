import { type ApprovalNote, ApprovalRequest, type ToolCall } from '@caribou/contracts';
import type { ToolOutcome } from '@caribou/core';
import { withNote } from '../messages/answer.js';
import type { DecidedCall } from './decided-calls.js';
import { shownArgs } from './shown-args.js';

/** Bytes of the arguments that the transcript and the model are shown of an edit. */
const MAX_NOTED_BYTES = 8 * 1024;

interface Decided {
  /** The call as the model made it. */
  readonly call: ToolCall;
  readonly decided: DecidedCall;
}

/** The result of a call that a person refused. */
export function rejectedOutcome({ call, decided }: Decided): ToolOutcome {
  const { message } = decided.decision;
  const who = decided.interrupt.answered_by === undefined ? 'The call was rejected' : 'A person rejected the call';
  const why = message === undefined ? '' : ` The reason: ${message}`;
  return {
    content: `Error: Tool '${call.name}' was not called. ${who}.${why} Do not make the same call again; choose another way or ask what to do.`,
    isError: true,
    additionalKwargs: { approval: noteOf({ call, decided }) },
  };
}

/** The answer that a person gave in place of the tool. */
export const answeredOutcome = ({ call, decided }: Decided): ToolOutcome => ({
  content: decided.decision.message ?? '',
  additionalKwargs: { approval: noteOf({ call, decided }) },
});

/** The result of an executed call, with what the person decided; the model reads with which arguments it was executed. */
export function executedOutcome(
  outcome: ToolOutcome,
  { call, decided, executed }: Decided & { readonly executed: ToolCall },
) {
  const isEdited = executed !== call;
  const note = { ...noteOf({ call: executed, decided }), ...(isEdited ? editOf(call, executed) : {}) };
  const args = JSON.stringify(shownArgs(executed.args, MAX_NOTED_BYTES).args);
  const text = `Note: a person changed the arguments of this call before it was executed. They were: ${args}`;
  return {
    ...outcome,
    content: isEdited ? withNote(outcome.content, text) : outcome.content,
    additionalKwargs: { ...outcome.additionalKwargs, approval: note },
  };
}

const editOf = (call: ToolCall, executed: ToolCall): Pick<ApprovalNote, 'original_args' | 'args'> => ({
  original_args: shownArgs(call.args, MAX_NOTED_BYTES).args,
  args: shownArgs(executed.args, MAX_NOTED_BYTES).args,
});

function noteOf({ decided: { interrupt, decision, approvedHash } }: Decided): ApprovalNote {
  const asked = ApprovalRequest.safeParse(interrupt.value).data?.call_hash;
  return {
    decision: decision.type,
    by: interrupt.answered_by ?? null,
    at: interrupt.answered_at,
    interrupt_id: interrupt.id,
    call_hash: approvedHash ?? asked ?? '',
  };
}
