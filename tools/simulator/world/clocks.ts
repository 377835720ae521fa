export const LEASE_MS = 10_000;
export const RENEW_MS = 3_000;
export const OUTAGE_MS = 60_000;
export const SWEEP_MS = 10_000;
/** Longer than any history, so that logs can be read at its end. */
export const EVENTS_TTL_MS = 30 * 24 * 3_600_000;
/** Shorter than the lease of a run, and renewed rarely, as each renewal is a call of a history. */
export const PROCESS_LEASE_MS = 7_000;
export const PROCESS_RENEW_MS = 1_750;
