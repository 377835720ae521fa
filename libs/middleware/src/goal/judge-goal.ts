import { createHash } from 'node:crypto';
import type { GoalEvaluation, GoalState } from '@caribou/contracts';
import type { Verdict } from './verdict.js';

export interface Judged {
  /** The goal with the evaluation; null when it is reached. */
  readonly goal: GoalState | null;
  /** Whether the agent continues by itself. */
  readonly again: boolean;
  readonly standDownReason?: string;
}

export interface JudgedAnswer {
  readonly runId: string;
  /** ISO 8601 UTC. */
  readonly at: string;
  /** Identifies the newest visible answer. */
  readonly digest: string;
}

/**
 * Applies a verdict to the goal. The agent continues by itself while the goal is not met yet, at most `max_continuations` times
 * in all, and until `max_no_progress_continuations` evaluations in a row found nothing new.
 */
export function judgeGoal(goal: GoalState, verdict: Verdict, answer: JudgedAnswer): Judged {
  if (verdict.satisfied) return { goal: null, again: false };
  const key = createHash('sha256')
    .update(JSON.stringify([verdict.blocker, answer.digest]))
    .digest('hex');
  const noProgress = goal.last_evaluation?.progress_key === key ? goal.no_progress_count + 1 : 0;
  const standDownReason = whyStandDown(goal, verdict, noProgress);
  const again = standDownReason === undefined;
  return {
    again,
    ...(standDownReason === undefined ? {} : { standDownReason }),
    goal: {
      ...goal,
      updated_at: answer.at,
      continuation_count: goal.continuation_count + (again ? 1 : 0),
      no_progress_count: noProgress,
      last_evaluation: evaluationOf(verdict, answer, { key, standDownReason }),
    },
  };
}

/** The goal after an evaluation that brought no verdict: the counters stay, and the agent does not continue. */
export function noteFailedEvaluation(goal: GoalState, reason: string, answer: JudgedAnswer): GoalState {
  const verdict: Verdict = { satisfied: false, blocker: 'missing_evidence', reason, evidence: '' };
  const key = goal.last_evaluation?.progress_key ?? '';
  const evaluation = evaluationOf(verdict, answer, { key, standDownReason: 'evaluator_failed' });
  return { ...goal, updated_at: answer.at, last_evaluation: evaluation };
}

function whyStandDown(goal: GoalState, { blocker }: Verdict, noProgress: number): string | undefined {
  if (blocker !== 'goal_not_met_yet') return `blocked:${blocker}`;
  if (goal.continuation_count >= goal.max_continuations) return 'max_continuations_reached';
  return noProgress >= goal.max_no_progress_continuations ? 'no_progress_detected' : undefined;
}

interface Outcome {
  readonly key: string;
  readonly standDownReason: string | undefined;
}

const evaluationOf = (
  { satisfied, blocker, reason, evidence }: Verdict,
  { runId, at }: JudgedAnswer,
  { key, standDownReason }: Outcome,
): GoalEvaluation => ({
  satisfied,
  blocker,
  reason,
  evidence_summary: evidence,
  run_id: runId,
  evaluated_at: at,
  progress_key: key,
  ...(standDownReason === undefined ? {} : { stand_down_reason: standDownReason }),
});
