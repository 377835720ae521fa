import { checkUrl } from './checked-url.js';
import { parseEgressRule } from './egress-rules.js';
import { safeFetch } from './safe-fetch.js';

/** Bytes of a page or of a provider's answer. */
const MAX_BYTES = 5 * 1024 * 1024;

/** The fetch of web tools: public hosts, and those of the rules at any address. The caller's signal is the deadline. */
export function createWebFetch(rules: readonly string[]): {
  readonly fetch: ReturnType<typeof safeFetch>;
  readonly check: (url: string) => Promise<void>;
} {
  const open = rules.map(parseEgressRule);
  return { fetch: safeFetch({ open, maxBytes: MAX_BYTES }), check: (url) => checkUrl(url, { open }) };
}
