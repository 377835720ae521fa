import type { QuotaUse } from '@caribou/contracts';
import type { FastifyReply } from 'fastify';

/** A limit that a request counts against, and what is left of it. */
export interface CountedLimit {
  /** Name of the limit: letters, digits and hyphens. */
  readonly policy: string;
  readonly quota: number;
  /** What the quota counts; absent: requests. */
  readonly unit?: string;
  /** Seconds in which the whole quota becomes available again; absent for a limit of what exists at once. */
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
 * draft-ietf-httpapi-ratelimit-headers-11. A limit that they have already is replaced.
 */
export function addRateLimit(reply: FastifyReply, limit: CountedLimit): void {
  const { policy, quota, unit, windowSeconds, remaining, resetSeconds } = limit;
  const parameter = (name: string, value: string | number | undefined): string =>
    value === undefined ? '' : `;${name}=${value}`;
  const quoted = unit === undefined ? undefined : `"${unit}"`;
  put(reply, POLICY, policy, `;q=${quota}${parameter('qu', quoted)}${parameter('w', windowSeconds)}`);
  put(reply, STATE, policy, `;r=${remaining}${parameter('t', resetSeconds)}`);
}

function put(reply: FastifyReply, name: string, policy: string, parameters: string): void {
  const item = `"${policy}"${parameters}`;
  const items = reply.getHeader(name);
  void reply.header(name, typeof items === 'string' && items !== '' ? `${without(items, policy)}${item}` : item);
}

/** The other items of a list, to add one more. */
function without(items: string, policy: string): string {
  const start = `"${policy}";`;
  if (!items.includes(start)) return `${items}, `;
  const others = items.split(', ').filter((item) => !item.startsWith(start));
  return others.map((item) => `${item}, `).join('');
}

/** What the quotas of a user count, and whether waiting helps: threads and stored bytes are freed by the user alone. */
const QUOTAS: Readonly<Record<QuotaUse['quota'], { readonly unit: string; readonly freedByTime: boolean }>> = {
  runs: { unit: 'concurrent-requests', freedByTime: true },
  'queued-runs': { unit: 'concurrent-requests', freedByTime: true },
  steering: { unit: 'messages', freedByTime: true },
  'steering-bytes': { unit: 'content-bytes', freedByTime: true },
  streams: { unit: 'concurrent-requests', freedByTime: true },
  threads: { unit: 'threads', freedByTime: false },
  'run-bytes': { unit: 'content-bytes', freedByTime: false },
  crons: { unit: 'crons', freedByTime: false },
  'delayed-runs': { unit: 'runs', freedByTime: true },
  'webhook-events': { unit: 'events', freedByTime: true },
  assistants: { unit: 'assistants', freedByTime: false },
  'assistant-bytes': { unit: 'content-bytes', freedByTime: false },
  'store-items': { unit: 'items', freedByTime: false },
  'store-bytes': { unit: 'content-bytes', freedByTime: false },
};

/** Adds a quota of the user to the headers of an answer. */
export function addQuota(reply: FastifyReply, { quota, limit, used }: QuotaUse): void {
  const { unit } = QUOTAS[quota];
  addRateLimit(reply, { policy: quota, quota: limit, unit, remaining: Math.max(0, limit - used) });
}

/** Whether a request that the quota refuses may be accepted later although the user does nothing. */
export const isFreedByTime = ({ quota }: QuotaUse): boolean => QUOTAS[quota].freedByTime;
