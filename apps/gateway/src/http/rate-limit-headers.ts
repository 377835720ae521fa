import type { FastifyReply } from 'fastify';

/** A limit that a request counts against, and what is left of it. */
export interface CountedLimit {
  /** Name of the limit: letters, digits and hyphens. */
  readonly policy: string;
  readonly quota: number;
  /** Seconds in which the whole quota becomes available again; absent for a limit of what is open at once. */
  readonly windowSeconds?: number;
  readonly remaining: number;
  /** Seconds until more is available; absent when nobody knows. */
  readonly resetSeconds?: number;
}

const POLICY = 'ratelimit-policy';
const STATE = 'ratelimit';
/** Names of the headers, for web pages of other origins. */
export const RATE_LIMIT_HEADERS = ['RateLimit-Policy', 'RateLimit'] as const;

/**
 * Adds a limit to the headers `RateLimit-Policy` and `RateLimit` of an answer: lists of structured fields, as in
 * draft-ietf-httpapi-ratelimit-headers-11. A limit without a window counts what is open at once.
 */
export function addRateLimit(reply: FastifyReply, limit: CountedLimit): void {
  const { policy, quota, windowSeconds, remaining, resetSeconds } = limit;
  const unit = windowSeconds === undefined ? ';qu="concurrent-requests"' : `;w=${windowSeconds}`;
  append(reply, POLICY, `"${policy}";q=${quota}${unit}`);
  append(reply, STATE, `"${policy}";r=${remaining}${resetSeconds === undefined ? '' : `;t=${resetSeconds}`}`);
}

function append(reply: FastifyReply, name: string, item: string): void {
  const items = reply.getHeader(name);
  void reply.header(name, typeof items === 'string' ? `${items}, ${item}` : item);
}
