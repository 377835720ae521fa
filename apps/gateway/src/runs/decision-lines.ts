import {
  ApprovalAnswer,
  type ApprovalDecision,
  ApprovalRequest,
  type InterruptRecord,
  isRecord,
  newId,
  omitUndefined,
} from '@caribou/contracts';
import { toolCallOf, type ThreadKey } from '@caribou/core';
import type { DecisionLine } from '@caribou/state';

/** An interrupt of kind `approval` with the decision about it. */
export interface DecidedCall {
  readonly interrupt: InterruptRecord;
  readonly decision: Pick<ApprovalDecision, 'type' | 'edited'>;
}

/** Any other question with its answer. */
export interface AnsweredQuestion {
  readonly question: {
    readonly id: string;
    /** What was asked: the text is its `question`, if it has one. */
    readonly value: unknown;
    readonly toolCallId?: string;
  };
  readonly answer: unknown;
}

/** Something that a person, or a deadline, decided. */
export type Decided = DecidedCall | AnsweredQuestion;

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
const MAX_FIELDS = 50;
const SECRET_KEY = /pass|secret|token|key|auth|credential|cookie/i;
/** Words of questions that ask for a secret. */
const SECRET_WORD = /\b(?:pass(?:word|phrase|code)|pin|secret|token|(?:api|access|private)[ -]?key|credential)s?\b/i;
const LEFT_OUT = '(left out)';

/** An interrupt with its answer, which is read as a decision where a call is asked for. */
export function decidedOf(interrupt: InterruptRecord, answer: unknown): Decided {
  const decision = interrupt.kind === 'approval' ? ApprovalAnswer.safeParse(answer).data : undefined;
  if (decision !== undefined) return { interrupt, decision };
  const { id, value, scope } = interrupt;
  return { question: { id, value, ...omitUndefined({ toolCallId: toolCallOf(scope) }) }, answer };
}

/** The line of the audit stream for a decision or an answer. */
export function decisionLine(decided: Decided, { thread, runId, by, from }: Carried): DecisionLine {
  const common = {
    id: newId(),
    user_id: thread.userId,
    thread_id: thread.threadId,
    run_id: runId,
    ...omitUndefined({ decided_by: by, decided_from: from }),
  };
  return 'decision' in decided ? { ...common, ...approvalOf(decided) } : { ...common, ...answerOf(decided) };
}

function approvalOf({ interrupt, decision }: DecidedCall) {
  const asked = ApprovalRequest.safeParse(interrupt.value).data;
  const action = asked?.action_requests[0];
  const args = decision.edited?.args ?? action?.args ?? {};
  return {
    operation: 'approval' as const,
    interrupt_id: interrupt.id,
    what: `${action?.name ?? ''} ${JSON.stringify(withoutSecrets(args))}`.slice(0, MAX_WHAT_CHARS),
    rules: asked?.reason.rules ?? [],
    verdict: decision.type,
    ...omitUndefined({ tool_call_id: asked?.tool_call_id, call_hash: asked?.call_hash }),
  };
}

/** An answer is left out as a whole when the question asks for a secret. */
function answerOf({ question: { id, value, toolCallId }, answer }: AnsweredQuestion) {
  const asked = isRecord(value) && typeof value['question'] === 'string' ? value['question'] : shown(value);
  return {
    operation: 'answer' as const,
    interrupt_id: id,
    what: asked.slice(0, MAX_WHAT_CHARS),
    verdict: 'answer' as const,
    answer: SECRET_WORD.test(asked) ? LEFT_OUT : shown(answer),
    ...omitUndefined({ tool_call_id: toolCallId }),
  };
}

const shown = (value: unknown): string => cut(isRecord(value) ? withoutSecrets(value) : value);

const withoutSecrets = (values: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(values)
      .slice(0, MAX_FIELDS)
      .map(([key, value]) => [key.slice(0, 100), SECRET_KEY.test(key) ? LEFT_OUT : cut(value)]),
  );

function cut(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length <= MAX_VALUE_CHARS ? text : `${text.slice(0, MAX_VALUE_CHARS)}…`;
}
