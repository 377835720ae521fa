/** Bodies of requests that make scheduled tasks. */

/** A time from now, by the clock of this process. */
export const later = (ms: number): string => new Date(Date.now() + ms).toISOString();

/** A task that is due each morning. */
export const taskOf = (more: object = {}) => ({
  title: 'Morning report',
  prompt: 'Write the report.',
  schedule_type: 'cron',
  schedule_spec: { cron: '0 7 * * *' },
  timezone: 'Europe/Berlin',
  context_mode: 'fresh_thread_per_run',
  ...more,
});

/** One that is due once, so many ms from now. */
export const once = (ms: number, more: object = {}) =>
  taskOf({ schedule_type: 'once', schedule_spec: { run_at: later(ms) }, ...more });

/** One that is due after each interval. */
export const every = (seconds: number, more: object = {}) =>
  taskOf({ schedule_type: 'interval', schedule_spec: { every_seconds: seconds }, ...more });
