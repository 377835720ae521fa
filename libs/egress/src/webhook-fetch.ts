import type { SafeFetch } from '@caribou/core';
import { checkLiteralHost } from './checked-url.js';
import { parseEgressRule } from './egress-rules.js';
import { safeFetch } from './safe-fetch.js';

/** Nothing of an answer is read but its status. */
const MAX_ANSWER_BYTES = 65_536;

/**
 * The fetch of deliveries to webhooks: public hosts on ports 80 and 443, and those of the rules at any address. It follows no
 * redirect, and `timeoutMs` is for all of a delivery.
 */
export const createWebhookFetch = (options: {
  readonly allow: readonly string[];
  readonly timeoutMs: number;
}): SafeFetch =>
  safeFetch({
    open: options.allow.map(parseEgressRule),
    maxBytes: MAX_ANSWER_BYTES,
    timeoutMs: options.timeoutMs,
    maxRedirects: 0,
  });

/** Checks what can be known of a webhook's URL without resolving a name; the check throws InvalidRequestError or ForbiddenError. */
export function createWebhookCheck(allow: readonly string[]): (url: string) => void {
  const open = allow.map(parseEgressRule);
  return (url) => checkLiteralHost(url, { open });
}
