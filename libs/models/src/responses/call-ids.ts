import { createHash } from 'node:crypto';

/** Longest `call_id` that the endpoint accepts ("string_above_max_length" above it), November 2026. */
const MAX_CHARS = 64;

/**
 * The `call_id` of each call of one request: the provider's own, else the stored id, else a hash of an id that is too long, as ids
 * of clients can be.
 */
export class CallIds {
  readonly #byId = new Map<string, string>();
  readonly #taken = new Set<string>();

  /** Enters a call; of the provider's ids a repeated one is not used. */
  add(id: string, ofProvider?: string): string {
    const isUsable = ofProvider !== undefined && ofProvider.length <= MAX_CHARS && !this.#taken.has(ofProvider);
    const callId = isUsable ? ofProvider : shortened(id);
    this.#taken.add(callId);
    this.#byId.set(id, callId);
    return callId;
  }

  /** The `call_id` of the call with this stored id. */
  of(id: string): string {
    return this.#byId.get(id) ?? shortened(id);
  }
}

const shortened = (id: string): string =>
  id.length <= MAX_CHARS ? id : `call_${createHash('sha256').update(id).digest('hex').slice(0, 40)}`;
