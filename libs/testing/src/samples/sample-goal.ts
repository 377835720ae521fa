import type { GoalState } from '@caribou/contracts';

/** A goal as a client has just set it. */
export const sampleGoal = (over: Partial<GoalState> = {}): GoalState => ({
  objective: 'Write the report.',
  status: 'active',
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
  continuation_count: 0,
  max_continuations: 8,
  no_progress_count: 0,
  max_no_progress_continuations: 2,
  ...over,
});
