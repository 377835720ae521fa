import type { SafeFetch } from '@caribou/core';
import { parseEgressRule } from './egress-rules.js';
import { longTimeoutFetch } from './long-timeout-fetch.js';
import { safeFetch } from './safe-fetch.js';

export interface McpFetches {
  /** For servers that the operator wrote down: anywhere. */
  readonly operatorFetch: SafeFetch;
  /** For servers that administrators wrote over REST: public addresses, and the hosts that the operator names. */
  readonly apiFetch: SafeFetch;
}

/** A call may be silent for as long as it may take, and an event stream between two events. */
const SILENCE_MS = 3_600_000;
/** The byte limit of a stream over its life; its reader bounds the pieces. */
const MAX_BYTES = 1024 ** 4;

/** Creates the fetch functions for MCP servers. @throws {InvalidRequestError} when a host is not valid */
export function mcpFetches({ apiHosts }: { readonly apiHosts: readonly string[] }): McpFetches {
  return {
    operatorFetch: longTimeoutFetch(SILENCE_MS),
    apiFetch: safeFetch({
      open: apiHosts.map(parseEgressRule),
      maxBytes: MAX_BYTES,
      headersTimeoutMs: SILENCE_MS,
      idleTimeoutMs: SILENCE_MS,
    }),
  };
}
