import type { GoalState } from '@caribou/contracts';
import { sampleGoal as goal } from '@caribou/testing';
import { judgeGoal, noteFailedEvaluation } from './judge-goal.js';
import type { Verdict } from './verdict.js';

const verdict = (over: Partial<Verdict> = {}): Verdict => ({
  satisfied: false,
  blocker: 'goal_not_met_yet',
  reason: 'The second part is missing.',
  evidence: 'The first part is there.',
  ...over,
});

const answer = (digest: string) => ({ runId: 'run-1', at: '2026-01-02T00:00:00.000Z', digest });

/** How often the agent continues by itself when each answer has the text that `digestOf` gives. */
function continuations(from: GoalState, digestOf: (count: number) => string) {
  let current = from;
  for (let count = 0; ; count += 1) {
    const judged = judgeGoal(current, verdict(), answer(digestOf(count)));
    if (judged.goal === null) throw new Error('the goal is not met');
    current = judged.goal;
    if (!judged.again) return { count, goal: current, why: judged.standDownReason };
  }
}

describe(judgeGoal, () => {
  test('a goal that is met is removed', () => {
    expect(judgeGoal(goal(), verdict({ satisfied: true, blocker: 'none' }), answer('a'))).toEqual({
      goal: null,
      again: false,
    });
  });

  test('the agent continues while the goal is not met yet, and the goal has what was said', () => {
    const judged = judgeGoal(goal(), verdict(), answer('a'));

    expect(judged).toMatchObject({
      again: true,
      goal: {
        continuation_count: 1,
        no_progress_count: 0,
        updated_at: '2026-01-02T00:00:00.000Z',
        last_evaluation: {
          satisfied: false,
          blocker: 'goal_not_met_yet',
          reason: 'The second part is missing.',
          evidence_summary: 'The first part is there.',
          run_id: 'run-1',
          evaluated_at: '2026-01-02T00:00:00.000Z',
        },
      },
    });
    expect(judged.goal?.last_evaluation).not.toHaveProperty('stand_down_reason');
  });

  test.each(['missing_evidence', 'needs_user_input', 'run_failed', 'external_wait'] as const)(
    'it does not continue after %s',
    (blocker) => {
      expect(judgeGoal(goal(), verdict({ blocker }), answer('a'))).toMatchObject({
        again: false,
        goal: { continuation_count: 0, last_evaluation: { stand_down_reason: `blocked:${blocker}` } },
      });
    },
  );

  test('with new answers each time it continues as often as the goal allows, also over several runs', () => {
    const { count, goal: after, why } = continuations(goal(), String);

    expect([count, why, after.continuation_count]).toEqual([8, 'max_continuations_reached', 8]);
    expect(continuations(after, (index) => `later ${index}`).count).toBe(0);
    expect(continuations(goal({ max_continuations: 0 }), String).count).toBe(0);
  });

  test('with the same answer each time it continues until enough evaluations found nothing new', () => {
    const { count, goal: after, why } = continuations(goal(), () => 'same');

    expect([count, why, after.no_progress_count]).toEqual([2, 'no_progress_detected', 2]);
    // Something new begins the count again.
    expect(judgeGoal(after, verdict(), answer('new'))).toMatchObject({ again: true, goal: { no_progress_count: 0 } });
  });
});

describe(noteFailedEvaluation, () => {
  test('leaves the counters and says why the agent does not continue', () => {
    const before = goal({ continuation_count: 3, no_progress_count: 1 });

    expect(noteFailedEvaluation(before, 'It was too slow.', answer('a'))).toMatchObject({
      continuation_count: 3,
      no_progress_count: 1,
      last_evaluation: { reason: 'It was too slow.', stand_down_reason: 'evaluator_failed' },
    });
  });
});
