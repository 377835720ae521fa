import { type ApprovalDecision, ApprovalRequest, type InterruptRecord, newId, omitUndefined } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { DecisionLine } from '@caribou/state';

/** An interrupt of kind `approval` with the decision about it. */
export interface DecidedInterrupt {
  readonly interrupt: InterruptRecord;
  readonly decision: Pick<ApprovalDecision, 'type' | 'edited'>;
}

interface Carried {
  readonly thread: ThreadKey;
  /** The run that carries the decision out. */
  readonly runId: string;
  /** User id; absent: the deadline decided. */
  readonly by?: string | undefined;
  readonly from?: string | undefined;
}

const MAX_VALUE_CHARS = 200;
const MAX_WHAT_CHARS = 2_048;
const SECRET_KEY = /pass|secret|token|key|auth|credential|cookie/i;

/** The line of the audit stream for a decision. */
export function decisionLine(
  { interrupt, decision }: DecidedInterrupt,
  { thread, runId, by, from }: Carried,
): DecisionLine {
  const asked = ApprovalRequest.safeParse(interrupt.value).data;
  const action = asked?.action_requests[0];
  const args = decision.edited?.args ?? action?.args ?? {};
  return {
    id: newId(),
    operation: 'approval',
    user_id: thread.userId,
    thread_id: thread.threadId,
    run_id: runId,
    interrupt_id: interrupt.id,
    what: `${action?.name ?? ''} ${JSON.stringify(withoutSecrets(args))}`.slice(0, MAX_WHAT_CHARS),
    rules: asked?.reason.rules ?? [],
    verdict: decision.type,
    ...omitUndefined({
      tool_call_id: asked?.tool_call_id,
      call_hash: asked?.call_hash,
      decided_by: by,
      decided_from: from,
    }),
  };
}

const withoutSecrets = (args: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(args)
      .slice(0, 50)
      .map(([key, value]) => [key.slice(0, 100), SECRET_KEY.test(key) ? '(left out)' : cut(value)]),
  );

function cut(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length <= MAX_VALUE_CHARS ? text : `${text.slice(0, MAX_VALUE_CHARS)}…`;
}
