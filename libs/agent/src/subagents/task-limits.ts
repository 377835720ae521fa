import type { SubagentsConfig } from '@caribou/config';

/** Limits of the store of tasks; all processes of an installation use the same. */
export const taskLimits = (config: SubagentsConfig) => ({
  maxPending: config.max_pending,
  maxPendingPerUser: config.max_pending_per_user,
  keptMs: 1_000 * config.history_seconds,
});
