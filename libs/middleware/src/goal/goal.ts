import { type GoalState, openQuestionsIn, type ThreadState } from '@caribou/contracts';
import type { AgentMiddleware, ModelPort, RunContext, Step } from '@caribou/core';
import { createHiddenMessage } from '../messages/hidden-message.js';
import { type AskFailure, askModel } from '../model-calls/ask-model.js';
import { answerDigest, formatEvidence } from './evidence.js';
import { type JudgedAnswer, judgeGoal, noteFailedEvaluation } from './judge-goal.js';
import { continuationText, evaluationCall, readVerdict, type Verdict } from './verdict.js';

const NAME = 'goal';
const MAX_ANSWER_CHARS = 20_000;
const DEFAULT_TIMEOUT_MS = 30_000;

export interface GoalOptions {
  /** Judges the goal. */
  readonly model: ModelPort;
  /** Longest wait for the verdict. */
  readonly timeoutMs?: number;
}

/**
 * Lets the agent pursue the goal of its thread: when a run would succeed, a model judges by the conversation whether the goal is
 * reached. If it is not and the agent can go on by itself, a hidden message asks it to, in the same run. What the model said,
 * the counters and that message are one update. A model that fails, is too slow or answers something else ends the run as it would
 * end, with the failure in the goal.
 */
export function goal({ model, timeoutMs = DEFAULT_TIMEOUT_MS }: GoalOptions): AgentMiddleware {
  return {
    name: NAME,
    isSlowBeforeEnd: (state) => state.goal !== undefined && verdictWithoutModel(state) === undefined,
    async beforeEnd(state, run) {
      if (state.goal === undefined) return undefined;
      const answer = answerOf(state, run);
      const known = verdictWithoutModel(state);
      if (known !== undefined) return stepAfter(state.goal, known, { answer, run });
      const call = evaluationCall(state.goal, formatEvidence(state.messages));
      const { text, usage, failure } = await askModel(model, call, { run, timeoutMs, maxChars: MAX_ANSWER_CHARS });
      const verdict = readVerdict(text);
      if (verdict !== undefined) return { ...stepAfter(state.goal, verdict, { answer, run }), usage };
      run.recordDecision(NAME, 'unjudged', { failure: failure ?? 'garbage' });
      const reason = failure === undefined ? NO_VERDICT : FAILURES[failure](timeoutMs);
      return { update: { goal: noteFailedEvaluation(state.goal, reason, answer) }, usage };
    },
  };
}

const NO_VERDICT = 'The evaluator answered something that is no verdict.';

const FAILURES: Readonly<Record<AskFailure, (timeoutMs: number) => string>> = {
  late: (timeoutMs) => `The evaluator did not answer within ${timeoutMs} ms.`,
  failed: () => 'The call of the evaluator failed.',
  filtered: () => "The evaluator's answer was stopped by a filter of its provider.",
};

const answerOf = ({ messages }: ThreadState, { runId, clock }: RunContext): JudgedAnswer => ({
  runId,
  at: new Date(clock.now()).toISOString(),
  digest: answerDigest(messages),
});

/** What is to be said without asking a model; undefined when one is to judge. */
function verdictWithoutModel({ messages }: ThreadState): Verdict | undefined {
  const given = { satisfied: false, evidence: '' } as const;
  if (openQuestionsIn(messages).length > 0)
    return { ...given, blocker: 'needs_user_input', reason: 'The agent has asked the user a question.' };
  if (answerDigest(messages) === '')
    return { ...given, blocker: 'missing_evidence', reason: 'There is no visible answer that could be judged.' };
  return undefined;
}

interface Moment {
  readonly answer: JudgedAnswer;
  readonly run: RunContext;
}

function stepAfter(before: GoalState, verdict: Verdict, { answer, run }: Moment): Step {
  const { goal: after, again, standDownReason } = judgeGoal(before, verdict, answer);
  if (after === null) run.recordDecision(NAME, 'reached');
  else
    run.recordDecision(NAME, again ? 'continued' : 'stopped', {
      count: after.continuation_count,
      why: standDownReason ?? '',
    });
  if (!again) return { update: { goal: after } };
  const hidden = createHiddenMessage('goal_continuation', continuationText(before, verdict));
  const message = {
    ...hidden,
    additional_kwargs: { ...hidden.additional_kwargs, deerflow_goal_continuation: true },
  };
  return { again, update: { goal: after, messages: [message] } };
}
