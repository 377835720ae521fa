import { z } from 'zod';

export const MAX_OBJECTIVE_CHARS = 4_000;

/** Why a goal is not met; the agent continues by itself after `goal_not_met_yet` only. */
export const GoalBlocker = z.enum([
  'none',
  'missing_evidence',
  'needs_user_input',
  'run_failed',
  'external_wait',
  'goal_not_met_yet',
]);
export type GoalBlocker = z.infer<typeof GoalBlocker>;

/** What the evaluator said of a goal at the end of an answer. */
export const GoalEvaluation = z.object({
  satisfied: z.boolean(),
  blocker: GoalBlocker,
  reason: z.string(),
  evidence_summary: z.string(),
  /** The run whose answer was judged. */
  run_id: z.string(),
  /** ISO 8601 UTC. */
  evaluated_at: z.string(),
  /** Equal for two evaluations in a row between which nothing visible was done. */
  progress_key: z.string(),
  stand_down_reason: z
    .string()
    .optional()
    .describe(
      'Why the agent did not continue: blocked:<blocker>, max_continuations_reached, no_progress_detected or evaluator_failed',
    ),
});
export type GoalEvaluation = z.infer<typeof GoalEvaluation>;

/** What the agent of a thread pursues over several answers, until it is met or the limits are reached. */
export const GoalState = z.object({
  objective: z.string(),
  status: z.literal('active'),
  created_at: z.string(),
  updated_at: z.string(),
  /** How often the agent continued by itself. */
  continuation_count: z.number().int(),
  max_continuations: z.number().int(),
  /** Evaluations in a row that found nothing new. */
  no_progress_count: z.number().int(),
  max_no_progress_continuations: z.number().int(),
  last_evaluation: GoalEvaluation.optional(),
});
export type GoalState = z.infer<typeof GoalState>;

/** A change of the goal that a client asked for while a run was in flight; the run makes it with one of its commits. */
export interface GoalChange {
  /** The change as it is stored, by which the store recognizes that it was made. */
  readonly text: string;
  /** The new goal; null removes it. */
  readonly goal: GoalState | null;
}
