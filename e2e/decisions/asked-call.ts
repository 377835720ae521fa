import { type ApprovalRequest, isRecord } from '@caribou/contracts';
import type { WireMessage } from '../support/client.js';

/** What a person decides; `answer` is the answer to a question of a tool, which then has its effect. */
export type Decision = 'approve' | 'edit' | 'reject' | 'respond' | 'answer';

/** A call that waits, and what it is going to be answered. */
export interface AskedCall {
  readonly interruptId: string;
  readonly callId: string;
  readonly decision: Decision;
  readonly answer: unknown;
  /** The agent that made the call, as the streaming protocol names it. */
  readonly namespace: readonly string[];
  /** Whether it comes to its tool. */
  readonly isExecuted: boolean;
}

/** An entry of `GET /threads/{id}/approvals`. */
export interface Waiting {
  readonly interrupt_id: string;
  readonly value: unknown;
  readonly namespace: readonly string[];
}

/** A command of the sandbox has its effect, and then waits for this. */
export const WAIT = '; while [ ! -e /mnt/user-data/workspace/gate ]; do sleep 0.05; done';
/** What an edited command writes. */
export const EDITED_LINE = 'edited';

/** The agent that asks, as the streaming protocol names it. */
export const namespaceOf = (waiting: Waiting | undefined): readonly string[] =>
  (waiting?.namespace ?? []).map((segment) => segment.replace(/^task:/, 'tools:'));

/** The answer to a call: the decision that its arguments name, or, for the tool that asks, one that makes it wait. */
export function toAskedCall(waiting: Waiting, messages: readonly WireMessage[]): AskedCall {
  const common = { interruptId: waiting.interrupt_id, namespace: namespaceOf(waiting) };
  if (!isApproval(waiting.value)) {
    const call = messages.flatMap(({ tool_calls: calls = [] }) => calls).find(({ name }) => name === 'ask_first');
    if (call === undefined) throw new Error(`an unknown question: ${JSON.stringify(waiting)}`);
    return { ...common, callId: call.id, decision: 'answer', answer: 'wait', isExecuted: true };
  }
  const { action_requests: actions, tool_call_id: callId = '' } = waiting.value;
  const [action] = actions;
  const decision = /\b(approve|edit|reject|respond)\b/.exec(JSON.stringify(action?.args))?.[1] as Decision | undefined;
  if (action === undefined || decision === undefined) throw new Error(`an unknown call: ${JSON.stringify(waiting)}`);
  const answer = { decisions: [decisionOf(decision, action)] };
  return { ...common, callId, decision, answer, isExecuted: decision === 'approve' || decision === 'edit' };
}

const isApproval = (value: unknown): value is ApprovalRequest => isRecord(value) && 'action_requests' in value;

/** A decision about a call as clients send it; an edit pays 1, or writes another line. */
export function decisionOf(
  decision: Decision,
  { name, args }: Pick<ApprovalRequest['action_requests'][number], 'name' | 'args'>,
): object {
  if (decision === 'reject') return { type: 'reject', message: 'not today' };
  if (decision === 'respond') return { type: 'respond', message: 'did it myself' };
  if (decision === 'approve') return { type: 'approve' };
  const command = `echo ${EDITED_LINE} | tee -a /mnt/user-data/workspace/ledger${WAIT}`;
  const edited = name === 'bash' ? { ...args, command } : { ...args, amount: 1 };
  return { type: 'edit', edited_action: { name, args: edited } };
}

/** What the model reads of a call: its result, or that nobody knows whether it had its effect. */
export const RESULTS: Readonly<Record<Decision, RegExp>> = {
  approve: /paid 5|approve|^Error: The outcome of /,
  edit: /paid 1|edited|^Error: The outcome of /,
  reject: /not today/,
  respond: /^did it myself$/,
  answer: /did .* as|^Error: The outcome of /,
};
