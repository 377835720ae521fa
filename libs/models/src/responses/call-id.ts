import { createHash } from 'node:crypto';

/** Longest `call_id` that the endpoint accepts ("string_above_max_length" above it), November 2026. */
const MAX_CHARS = 64;

/** The `call_id` of a stored call: its own id, or a hash of one that is too long, as ids of clients can be. */
export const toCallId = (id: string): string =>
  id.length <= MAX_CHARS ? id : `call_${createHash('sha256').update(id).digest('hex').slice(0, 40)}`;
